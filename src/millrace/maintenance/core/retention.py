"""Which days of a table are old enough to go, and how many of them may go without a question.

A row's age is told by three clocks: the one of the worker that asks, the broker's (the row's day)
and the job's (when the row came into the table). The earliest of them counts, so a clock that is
ahead makes no row old. Where all are ahead together, days go no faster than days pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from millrace.base.model import Frozen
from millrace.maintenance.core.logged_files import DataFile, TableLog

_DAY = timedelta(days=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Passed(Frozen):
    """How far a table's days were let go, as the last run left it."""

    # The day of that run, by its clock.
    on: date
    # The first day that was kept when that day began, and after that run.
    began: date
    now: date
    # Whether a person has been asked about the rest on that day.
    asked: bool = False


@dataclass(frozen=True)
class Judged:
    gone: tuple[date, ...] = ()
    # Old enough, and more at once than a day brings: a person has to agree.
    held: tuple[date, ...] = ()
    # To be remembered once the run has ended; None where rows are kept for ever.
    passed: Passed | None = None


def table_time(log: TableLog, now: datetime) -> datetime | None:
    """The latest moment that the clock and the rows agree on; None for a table without rows."""
    came = [file.came_ms for files in log.days.values() for file in files]
    return _from_ms(min(_ms(now), max(came))) if came else None


def unneeded_before(log: TableLog, now: datetime, after: timedelta) -> datetime | None:
    """Files that are older, and that no version names, may go; None: none may."""
    at = table_time(log, now)
    if at is None:
        return None
    written_ms = max(file.written_ms for files in log.days.values() for file in files)
    return _from_ms(min(_ms(at), written_ms)) - after


def judge_days(
    log: TableLog, keep: timedelta | None, now: datetime, passed: Passed | None, *, agreed: bool
) -> Judged:
    """`agreed`: a person has said that all that is old may go."""
    at = table_time(log, now)
    if at is None or not keep:
        return Judged()
    first_kept = _first_kept(log, keep, at)
    old = [day for day, files in sorted(log.days.items()) if _is_old(files, at - keep)]
    old = [day for day in old if day < first_kept]
    began = min(first_kept, _began(passed, now, min(log.days)))
    limit = first_kept if agreed else min(first_kept, began + _DAY)
    held = tuple(day for day in old if day >= limit)
    return Judged(
        gone=tuple(day for day in old if day < limit),
        held=held,
        passed=Passed(
            on=_today(now), began=limit if agreed else began, now=limit, asked=bool(held)
        ),
    )


def is_news(judged: Judged, before: Passed | None) -> bool:
    """Whether a person has yet to hear of what is held: once a day is enough."""
    if not judged.held or judged.passed is None:
        return False
    return before is None or not before.asked or before.on != judged.passed.on


def _began(passed: Passed | None, now: datetime, oldest: date) -> date:
    """What earlier days have let go, or what was never there."""
    if passed is None:
        return oldest
    return passed.began if passed.on == _today(now) else max(passed.now, oldest)


def _first_kept(log: TableLog, keep: timedelta, at: datetime) -> date:
    """Of the days before it even the last moment is too old. A part of a day counts as a whole
    one where the newest day is the clock."""
    newest = max(log.days).toordinal() - -(-keep // _DAY)
    return min((at - keep).date(), date.fromordinal(max(1, newest)))


def _is_old(files: Sequence[DataFile], before: datetime) -> bool:
    """By when its rows came: a broker with a clock in the past makes no new row old."""
    return max((file.came_ms for file in files), default=0) <= _ms(before)


def _today(now: datetime) -> date:
    return now.astimezone(UTC).date()


def _ms(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(milliseconds=1)


def _from_ms(ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=max(0, ms))
