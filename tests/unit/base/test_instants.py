"""Times are UTC, wherever the machine stands and whatever its clocks do in spring and autumn."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import pytest

from millrace.base.instants import first_kept_day, parse_day, parse_instant


@pytest.fixture(autouse=True, params=["Europe/Berlin", "America/St_Johns", "UTC"])
def local_time(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-03-29T02:30", (2026, 3, 29, 2, 30)),  # an hour that Berlin does not have
        ("2026-03-29T03:30+02:00", (2026, 3, 29, 1, 30)),
        ("2026-10-25T02:30+02:00", (2026, 10, 25, 0, 30)),  # an hour that Berlin has twice
        ("2026-10-25T02:30+01:00", (2026, 10, 25, 1, 30)),
        ("2026-10-25", (2026, 10, 25, 0, 0)),
    ],
)
def test_a_time_is_utc_unless_it_says_otherwise(text: str, instant: tuple[int, ...]) -> None:
    assert parse_instant("--from", text) == datetime(*instant, tzinfo=UTC)


def test_a_day_is_kept_by_utc() -> None:
    just_after_midnight_in_berlin = datetime.fromisoformat("2026-10-25T00:30+02:00")
    assert first_kept_day(timedelta(days=1), just_after_midnight_in_berlin) == date(2026, 10, 23)
    assert parse_day("--day", "2026-10-25") == date(2026, 10, 25)
