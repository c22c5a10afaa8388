"""When a table is judged again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from millrace.quality.core.due import is_due, newest_version

NOW = datetime(2026, 11, 19, tzinfo=UTC)
EVERY = timedelta(minutes=15)


def test_the_newest_version_is_the_last_commits() -> None:
    names = ["00000000000000000009.json", "00000000000000000010.json", "_last_checkpoint"]
    more = ["00000000000000000010.checkpoint.parquet", "00000000000000000011.crc", "_sidecars"]
    assert newest_version([*names, *more]) == 10


def test_no_table_has_no_version() -> None:
    assert newest_version([]) is None


@pytest.mark.parametrize(
    ("newest", "checked", "minutes_ago", "due"),
    [
        (None, None, 60, False),
        (7, None, 60, True),
        (7, 7, 60, False),
        (7, 6, 60, True),
        (7, 6, 15, True),
        (7, 6, 14, False),
    ],
)
def test_news_are_judged_when_the_last_time_is_long_enough_ago(
    newest: int | None, checked: int | None, minutes_ago: int, due: bool
) -> None:
    last = NOW - timedelta(minutes=minutes_ago)
    assert is_due(newest, checked, last, NOW, EVERY) is due
