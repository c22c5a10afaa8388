from __future__ import annotations

from datetime import timedelta

import pytest

from millrace.base.duration import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1 second", 1),
        ("2 seconds", 2),
        ("500 milliseconds", 0.5),
        ("1.5 minutes", 90),
        ("1 hour", 3_600),
        ("30 days", 30 * 86_400),
        ("2 years", 730 * 86_400),
        (" 2  Weeks ", 14 * 86_400),
    ],
)
def test_a_duration_reads_as_written(text: str, seconds: float) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("text", "way_out"),
    [
        ("5 sec", "write '5 seconds'"),
        ("5m", "write '5 minutes'"),
        ("5", "such as '5 seconds'"),
        ("soon", "such as '2 seconds'"),
        ("-5 seconds", "write a number and a unit"),
        ("5 fortnights", "units are milliseconds, seconds"),
        ("0 seconds", "above zero"),
        (None, "write a number and a unit"),
    ],
)
def test_a_bad_duration_says_what_to_write(text: object, way_out: str) -> None:
    with pytest.raises(ValueError, match=way_out):
        parse_duration(text)


@pytest.mark.parametrize("text", ["1 second", "90 seconds", "2 hours", "30 days", "2 years"])
def test_what_is_written_back_reads_the_same(text: str) -> None:
    span = parse_duration(text)
    assert parse_duration(format_duration(span)) == span
