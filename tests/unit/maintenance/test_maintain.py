"""Plans of maintenance: tables of what is there and what is to be done."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from millrace.maintenance.core.logged_files import DataFile, TableLog
from millrace.maintenance.core.maintenance_plan import TablePlan, plan_table
from millrace.maintenance.core.maintenance_settings import MB, MaintenanceSettings
from millrace.maintenance.core.packing import is_closed, pack_day

SETTINGS = MaintenanceSettings()
TODAY = date(2026, 5, 10)
NOON = datetime(2026, 5, 10, 12, tzinfo=UTC)
LAST_WEEK = date(2026, 5, 3)
HOUR_MS = 3_600_000


def files(*sizes_mb: float, written: datetime = NOON - timedelta(hours=6)) -> list[DataFile]:
    """Written one a second, named by their number."""
    first_ms = int(written.timestamp() * 1_000)
    return [
        DataFile(f"f{n}", int(size * MB), *[first_ms + n * 1_000] * 3)
        for n, size in enumerate(sizes_mb)
    ]


def old_files(days: int) -> list[DataFile]:
    return files(200, written=NOON - timedelta(days=days))


def plan(
    days: dict[date, list[DataFile]], *, keep_days: int | None = None, **log: int
) -> TablePlan:
    known = {"version": 10, "checkpoint": 0, **log}
    keep = timedelta(days=keep_days) if keep_days else None
    return plan_table("bronze", "/t", TableLog(days=days, **known), keep, NOON, SETTINGS)


def kinds(one: TablePlan) -> list[str]:
    return [action.kind for action in one.actions]


@pytest.mark.parametrize(
    ("sizes", "merged"),
    [
        ([], []),
        ([1], []),
        ([200], []),
        ([1, 1], [[0, 1]]),
        ([100, 100], [[0, 1]]),
        ([130, 200, 256, 900], []),
        ([1, 200, 1], [[0, 2]]),
        ([100, 100, 100], [[0, 1]]),
        ([100, 100, 100, 100], [[0, 1], [2, 3]]),
        ([120, 0.01], []),
        ([120, 0.01, 0.01], [[1, 2]]),
        ([120, 4, 4], [[0, 1, 2]]),
    ],
    ids=[
        "empty",
        "one file",
        "one big file",
        "two small ones",
        "two that fit together",
        "compact already",
        "a big one between small ones",
        "as many as fit",
        "two of each two",
        "nothing for a late crumb",
        "late crumbs beside a big file",
        "late data of weight",
    ],
)
def test_a_closed_day_becomes_few_files(sizes: list[float], merged: list[list[int]]) -> None:
    groups = pack_day(LAST_WEEK, files(*sizes), NOON, SETTINGS)
    assert [[int(file.path[1:]) for file in group] for group in groups] == merged


@pytest.mark.parametrize(
    ("some", "merged"),
    [
        (files(*[0.01] * 49), 0),
        (files(*[0.01] * 50), 50),
        (files(*[0.01] * 50, written=NOON - timedelta(minutes=10)), 0),
        (files(10, *[0.01] * 99), 99),
        (files(0.5, *[0.01] * 60), 61),
    ],
    ids=[
        "too few to be worth it",
        "enough",
        "too young",
        "without what earlier runs made",
        "with it, as the new ones weigh as much",
    ],
)
def test_a_hot_day_is_touched_for_many_old_small_files(some: list[DataFile], merged: int) -> None:
    groups = pack_day(TODAY, some, NOON, SETTINGS)
    assert sum(map(len, groups)) == merged


def test_files_of_one_span_of_time_come_together() -> None:
    some = files(*[60] * 8)
    groups = pack_day(LAST_WEEK, reversed(some), NOON, SETTINGS)
    assert [file for group in groups for file in group] == some


def test_a_row_is_rewritten_a_few_times_while_its_day_goes_on() -> None:
    """A commit every 2 seconds of 20 kB, maintained every 10 minutes for a whole day."""
    settings = MaintenanceSettings(hot_file_age=timedelta(minutes=1))
    size, midnight = 20_000, datetime(2026, 5, 10, tzinfo=UTC)
    day: list[DataFile] = []
    rewritten = 0
    for run in range(1, 6 * 24 + 1):
        began = midnight + timedelta(minutes=10 * (run - 1))
        stamp = int(began.timestamp() * 1_000)
        day += [DataFile(f"{run}-{n}", size, *[stamp + n] * 3) for n in range(300)]
        for group in pack_day(TODAY, day, midnight + timedelta(minutes=10 * run + 2), settings):
            total = sum(file.size_bytes for file in group)
            rewritten += total
            gone = {file.path for file in group}
            last = group[-1]
            made = DataFile(f"made-{run}", total, last.written_ms, group[0].first_ms, last.came_ms)
            day = [*(file for file in day if file.path not in gone), made]
    written = 6 * 24 * 300 * size
    assert len(day) < 30
    assert rewritten < 6 * written


def test_what_was_merged_is_left_alone_the_next_time() -> None:
    merged = pack_day(LAST_WEEK, files(*[1] * 3_000), NOON, SETTINGS)
    sizes = [sum(file.size_bytes for file in group) / MB for group in merged]
    assert max(sizes) <= 256
    assert pack_day(LAST_WEEK, files(*sizes), NOON, SETTINGS) == []


@pytest.mark.parametrize(
    ("now", "closed"),
    [
        (datetime(2026, 5, 9, 23, 59, tzinfo=UTC), False),
        (datetime(2026, 5, 10, 0, 59, tzinfo=UTC), False),
        (datetime(2026, 5, 10, 1, 0, tzinfo=UTC), True),
    ],
)
def test_a_day_is_closed_an_hour_after_its_midnight(now: datetime, closed: bool) -> None:
    assert is_closed(date(2026, 5, 9), now, SETTINGS) is closed


def test_a_day_still_to_come_is_hot() -> None:
    assert not is_closed(date(2026, 5, 11), NOON, SETTINGS)


def test_a_day_that_goes_is_not_compacted_first() -> None:
    old = files(1, 1, written=NOON - timedelta(days=7))
    assert kinds(plan({LAST_WEEK: old, TODAY: files(1)}, keep_days=3)) == ["expire"]
    assert kinds(plan({LAST_WEEK: old, TODAY: files(1)}, keep_days=8)) == ["compact"]


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ({}, []),
        ({"unneeded_files": 3}, ["vacuum"]),
        ({"version": 299, "checkpoint": 0}, []),
        ({"version": 300, "checkpoint": 0}, ["checkpoint"]),
        ({"version": 299, "checkpoint": None}, ["checkpoint"]),
        ({"version": 298, "checkpoint": None}, []),
    ],
    ids=["well", "unneeded files", "behind", "far behind", "never, many", "never, few"],
)
def test_the_log_and_the_folder_are_cleaned_when_it_is_time(
    log: dict[str, int], expected: list[str]
) -> None:
    assert kinds(plan({TODAY: files(1)}, **log)) == expected


def test_a_vacuum_below_a_week_is_refused() -> None:
    with pytest.raises(ValueError, match="below 7 days"):
        MaintenanceSettings(vacuum_after=timedelta(hours=167))


def test_a_plan_comes_back_from_json_as_it_was() -> None:
    days = {TODAY - timedelta(days=age): old_files(age) for age in range(40)}
    made = plan({**days, LAST_WEEK: files(1, 1)}, keep_days=30, unneeded_files=1)
    assert made.held
    assert made.passed
    assert {*kinds(made)} == {"expire", "compact", "vacuum"}
    assert TablePlan.model_validate_json(made.model_dump_json()) == made
