"""Which days go: tables of clocks and days, some of them wrong."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.maintenance.core.logged_files import DataFile, TableLog
from millrace.maintenance.core.maintenance_plan import plan_table
from millrace.maintenance.core.maintenance_settings import MaintenanceSettings
from millrace.maintenance.core.retention import Judged, Passed, is_news, judge_days, unneeded_before

NOON = datetime(2026, 5, 10, 12, tzinfo=UTC)
TODAY = NOON.date()
DAY, MONTH = timedelta(days=1), timedelta(days=30)
FIRST, LAST = (datetime(year, 1, 1, tzinfo=UTC).replace(tzinfo=None) for year in (1973, 9000))


def file(came: datetime, written: datetime | None = None) -> DataFile:
    came_ms, written_ms = (int(at.timestamp() * 1_000) for at in (came, written or came))
    return DataFile(f"f{came_ms}", 1, written_ms, came_ms, came_ms)


def end_of(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC) + DAY - timedelta(milliseconds=1)


def table(*ages: int, came: Mapping[int, datetime] | None = None) -> TableLog:
    """A day of each age before today, its rows come on that day unless `came` says else."""
    days = {
        TODAY - age * DAY: [file((came or {}).get(age, min(NOON, end_of(TODAY - age * DAY))))]
        for age in ages
    }
    return TableLog(version=1, checkpoint=0, days=days)


def judge(
    log: TableLog,
    now: datetime = NOON,
    passed: Passed | None = None,
    *,
    keep: timedelta = MONTH,
    agreed: bool = False,
) -> Judged:
    return judge_days(log, keep, now, passed, agreed=agreed)


def ages(days: tuple[date, ...]) -> list[int]:
    return [(TODAY - day).days for day in days]


def yesterday(now: datetime = NOON, keep: timedelta = MONTH) -> Passed:
    first_kept = (now - DAY - keep).date()
    return Passed(on=(now - DAY).date(), began=first_kept - DAY, now=first_kept)


def test_the_day_that_became_too_old_since_yesterday_goes() -> None:
    judged = judge(table(*range(32)), passed=yesterday())
    assert (ages(judged.gone), judged.held) == ([31], ())


@pytest.mark.parametrize(
    ("now", "log", "keep"),
    [
        (NOON + 365 * DAY, table(*range(31)), MONTH),
        (NOON + 365 * DAY, table(*range(0, 31, 3)), timedelta(days=1)),
        (NOON, table(-400, *range(31)), MONTH),
        (NOON, table(*range(31), came={0: NOON + 365 * DAY}), MONTH),
        (NOON + 365 * DAY, table(-400, *range(31)), MONTH),
        (NOON, table(*range(3), 400, 20_000, came=dict.fromkeys((400, 20_000), NOON)), MONTH),
    ],
    ids=[
        "the worker's clock is ahead",
        "so it is, and keep is short",
        "a row with a day to come",
        "the job's clock was ahead once",
        "the worker's clock is ahead, and a row has a day to come",
        "a broker's clock was behind when today's rows came",
    ],
)
def test_a_wrong_clock_makes_no_row_old(now: datetime, log: TableLog, keep: timedelta) -> None:
    right = judge(log, keep=keep, agreed=True).gone if keep < MONTH else ()
    judged = judge(log, now, keep=keep, agreed=True)
    assert judged.gone == right


def test_a_row_with_a_day_to_come_holds_nothing_back() -> None:
    judged = judge(table(-400, *range(32)), passed=yesterday())
    assert (ages(judged.gone), judged.held) == ([31], ())


def test_where_all_clocks_are_ahead_one_day_goes_and_a_person_is_asked_for_the_rest() -> None:
    """They are one clock, on a machine with all parts; its rows of today say a year ahead too."""
    ahead = NOON + 365 * DAY
    log = table(-365, *range(1, 31), came={-365: ahead})
    judged = judge(log, ahead, yesterday())
    assert ages(judged.gone) == [30]
    assert ages(judged.held) == list(range(29, 0, -1))
    assert is_news(judged, yesterday())
    # An hour later by the same clock nothing more goes, and nobody is asked again.
    rest = TableLog(
        version=2, checkpoint=0, days={d: f for d, f in log.days.items() if d not in judged.gone}
    )
    again = judge(rest, ahead + timedelta(hours=1), judged.passed)
    assert (again.gone, len(again.held)) == ((), 29)
    assert not is_news(again, judged.passed)
    agreed = judge(rest, ahead + timedelta(hours=2), again.passed, agreed=True)
    assert (len(agreed.gone), agreed.held) == (29, ())


def test_a_shorter_keep_asks_once() -> None:
    judged = judge(table(*range(30)), keep=7 * DAY, passed=yesterday())
    assert (ages(judged.gone), len(judged.held)) == ([29], 21)
    agreed = judge(table(*range(29)), NOON, judged.passed, keep=7 * DAY, agreed=True)
    assert ages(agreed.gone) == list(range(28, 7, -1))
    log = table(*range(-1, 8), came={-1: NOON + DAY})
    tomorrow = judge(log, NOON + DAY, agreed.passed, keep=7 * DAY)
    assert (ages(tomorrow.gone), tomorrow.held) == ([7], ())


def test_days_without_a_run_and_without_rows_ask_nothing() -> None:
    log = table(*range(5), 31)
    passed = Passed(on=TODAY - 20 * DAY, began=TODAY - 60 * DAY, now=TODAY - 60 * DAY)
    judged = judge(log, passed=passed)
    assert (ages(judged.gone), judged.held) == ([31], ())


def test_rows_that_came_late_go_with_their_age_and_ask_nothing() -> None:
    """A job that was down for three days brought them all on one."""
    came = dict.fromkeys((33, 32, 31), NOON - MONTH - timedelta(hours=1))
    log = table(*range(34), came=came)
    passed = yesterday()
    early = judge(log, NOON - timedelta(hours=2), passed)
    assert (early.gone, early.held) == ((), ())
    judged = judge(log, NOON, early.passed)
    assert (ages(judged.gone), judged.held) == ([33, 32, 31], ())


@pytest.mark.parametrize("keep", [None, MONTH])
def test_an_empty_table_has_no_time_of_its_own(keep: timedelta | None) -> None:
    empty = TableLog(version=0, checkpoint=None, days={}, unneeded_files=3)
    assert judge_days(empty, keep, NOON, None, agreed=True) == Judged()
    assert unneeded_before(empty, NOON, timedelta(days=7)) is None
    settings = MaintenanceSettings()
    assert plan_table("bronze", "/t", empty, keep, NOON, settings).actions == ()


CLOCKS = st.datetimes(timezones=st.just(UTC), min_value=FIRST, max_value=LAST)
KEEPS = st.integers(1, 24 * 500).map(lambda hours: timedelta(hours=hours))
# A day's age, and how many days after it its rows came.
DAYS = st.dictionaries(st.integers(-400, 800), st.integers(-900, 900), min_size=1, max_size=20)


def any_table(days: Mapping[int, int]) -> TableLog:
    return table(*days, came={age: NOON + (late - age) * DAY for age, late in days.items()})


@pytest.mark.generated
@given(days=DAYS, keep=KEEPS, now=CLOCKS, agreed=st.booleans())
def test_no_row_goes_that_is_younger_than_keep_by_any_clock(
    days: Mapping[int, int], keep: timedelta, now: datetime, agreed: bool
) -> None:
    log = any_table(days)
    judged = judge(log, now, keep=keep, agreed=agreed)
    newest_came = max(NOON + (late - age) * DAY for age, late in days.items())
    for day in judged.gone:
        age = (TODAY - day).days
        came = NOON + (days[age] - age) * DAY
        assert end_of(day) + keep < now, "the worker's"
        assert end_of(day) + keep < newest_came, "the job's"
        assert came + keep <= min(now, newest_came), "the job's, when the row came"
        assert day + keep <= max(log.days), "the broker's"


@pytest.mark.generated
@given(
    days=DAYS,
    keep=KEEPS,
    runs=st.lists(st.tuples(CLOCKS, st.integers(-1, 2)), min_size=1, max_size=20),
)
def test_whatever_clocks_say_a_run_drops_at_most_one_day_more_than_the_one_before(
    days: Mapping[int, int], keep: timedelta, runs: list[tuple[datetime, int]]
) -> None:
    """All clocks are one, so rows of the newest day come by it."""
    left = dict(any_table(days).days)
    passed, passed_by = None, min(left)
    for now, hours in runs:
        left[now.date()] = [*left.get(now.date(), []), file(now)]
        for at in (now, now + timedelta(hours=hours)):
            log = TableLog(version=1, checkpoint=0, days=left)
            judged = judge(log, at, passed, keep=keep)
            assert all(day <= max(passed_by, min(left)) for day in judged.gone)
            if passed and judged.passed and passed.on == judged.passed.on:
                assert judged.passed.now <= passed.began + DAY
            left = {day: files for day, files in left.items() if day not in judged.gone}
            passed = judged.passed
            if passed:
                passed_by = passed.now


@pytest.mark.generated
@given(days=DAYS, now=CLOCKS, written=CLOCKS, after=KEEPS)
def test_no_file_is_unneeded_that_is_younger_than_the_newest_row_and_file_allow(
    days: Mapping[int, int], now: datetime, written: datetime, after: timedelta
) -> None:
    log = any_table(days)
    log = TableLog(
        version=1,
        checkpoint=0,
        days={
            day: [one._replace(written_ms=int(written.timestamp() * 1_000)) for one in files]
            for day, files in log.days.items()
        },
    )
    newest_came = max(NOON + (late - age) * DAY for age, late in days.items())
    before = unneeded_before(log, now, after)
    assert before is not None
    assert before <= min(now, written, newest_came) - after
