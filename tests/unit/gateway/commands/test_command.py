"""What `millrace command` makes of its arguments."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from millrace.base.errors import MillraceError
from millrace.gateway.commands.cli import make_command

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


def test_arguments_are_json_where_they_can_be():
    made = make_command("press", "open", ["a=1", 'b="1"', "c=x=y", "d=true"], "2 minutes", NOW)
    assert made.arguments == {"a": 1, "b": "1", "c": "x=y", "d": True}
    assert made.expires_at - made.issued_at == timedelta(minutes=2)


@pytest.mark.parametrize(
    ("device", "name", "argument", "expires", "problem"),
    [
        ("a press", "open", "a=1", "1 minute", "device='a press'"),
        ("press", "open it", "a=1", "1 minute", "name='open it'"),
        ("press", "open", "a", "1 minute", "--argument=a: write KEY=VALUE"),
        ("press", "open", "=1", "1 minute", "--argument==1"),
        ("press", "open", "a=1", "30s", "--expires=30s: .*write '30 seconds'"),
        ("press", "open", "a=1", "8 days", "write 7 days at most"),
        ("press", "open", "a=1", "0 seconds", "above zero"),
    ],
)
def test_a_mistake_is_named(device, name, argument, expires, problem):
    with pytest.raises(MillraceError, match=problem):
        make_command(device, name, [argument], expires, NOW)
