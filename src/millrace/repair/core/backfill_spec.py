"""Backfill decides: which rows of silver and quarantine are made anew from bronze.

The stream appends to today's day meanwhile. Replacing a whole day would drop what it appended
between our reading of bronze and our commit, or double what we read of a batch that it has not
finished. So only rows below the committed positions are replaced: no stream writes these any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from pydantic import Field

from millrace.base.errors import MillraceError
from millrace.base.model import Frozen
from millrace.ingest.core.ends import Ends, below
from millrace.jobs.core.task_spec import TaskSpec
from millrace.kafka.core.coordinates import between_days
from millrace.lake.core.refine import RefineSpec


class BackfillSpec(TaskSpec):
    # Days, both included.
    first: date
    last: date
    # Each site that a stream writes or wrote, and its checkpoint.
    checkpoints: dict[str, str]
    refine: RefineSpec
    dry_run: bool = False


class DayRows(Frozen):
    """Rows of one day, without those that are the stream's still."""

    day: date
    bronze: int = 0
    silver: int = 0
    quarantine: int = 0


class BackfillResult(Frozen):
    dry_run: bool
    before: tuple[DayRows, ...]
    # In a dry run: as they would be.
    after: tuple[DayRows, ...] = Field(default=())


def check_days(first: date, last: date, kept_from: date | None, today: date) -> None:
    """Raises MillraceError for days that cannot be made anew."""
    if first > last:
        raise MillraceError(f"--from={first} is after --to={last}; exchange them")
    if last > today:
        raise MillraceError(f"--to={last} is in the future; today is {today} (UTC)")
    if kept_from and first < kept_from:
        raise MillraceError(
            f"--from={first}: rows of that day may be deleted already by 'keep';"
            f" the first day that all tables keep is {kept_from}"
        )


def settled_rows(first: date, last: date, ends: Mapping[str, Ends]) -> str:
    return f"{between_days(first, last)} AND {below(ends)}"


def result_lines(result: BackfillResult) -> list[str]:
    verb = "would be" if result.dry_run else "is"
    before = {day.day: day for day in result.before}
    lines = [_line(before.get(after.day, DayRows(day=after.day)), after) for after in result.after]
    table = f"{'day':<12}{'bronze':>12}  {'silver':<28}{'quarantine':<28}"
    return [f"before -> as it {verb} now", table, *lines] if lines else ["no rows on these days"]


def _line(before: DayRows, after: DayRows) -> str:
    silver = f"{before.silver} -> {after.silver}"
    quarantine = f"{before.quarantine} -> {after.quarantine}"
    return f"{after.day!s:<12}{after.bronze:>12}  {silver:<28}{quarantine:<28}"
