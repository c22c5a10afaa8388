"""What a table needs now, and why; the clock is an argument."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Literal

from pydantic import Field

from millrace.core.duration import format_duration
from millrace.core.maintenance.log import DataFile, TableLog
from millrace.core.maintenance.packing import is_closed, pack_day
from millrace.core.maintenance.settings import MaintenanceSettings
from millrace.core.model import Frozen


class Bin(Frozen):
    """Files that become one."""

    paths: tuple[str, ...]
    size_bytes: int


class Compact(Frozen):
    kind: Literal["compact"] = "compact"
    day: date
    why: str
    bins: tuple[Bin, ...]

    @property
    def files(self) -> int:
        return sum(len(one.paths) for one in self.bins)

    @property
    def size_bytes(self) -> int:
        return sum(one.size_bytes for one in self.bins)


class Expire(Frozen):
    """Delete whole days: all before this one."""

    kind: Literal["expire"] = "expire"
    before: date
    why: str
    days: int
    files: int
    size_bytes: int


class Vacuum(Frozen):
    kind: Literal["vacuum"] = "vacuum"
    why: str
    hours: int
    files: int


class Checkpoint(Frozen):
    kind: Literal["checkpoint"] = "checkpoint"
    why: str
    commits: int


Action = Annotated[Compact | Expire | Vacuum | Checkpoint, Field(discriminator="kind")]


class TablePlan(Frozen):
    layer: str
    table: str
    version: int
    files: int
    size_bytes: int
    # In the order in which they are done; none: the table is well as it is.
    actions: tuple[Action, ...] = ()


def plan_table(
    layer: str,
    table: str,
    log: TableLog,
    keep: timedelta | None,
    now: datetime,
    settings: MaintenanceSettings,
) -> TablePlan:
    """Days that go need no compaction, and a checkpoint at the end sums up all of it."""
    first_kept = _first_kept_day(keep, now, log)
    everything = [file for files in log.days.values() for file in files]
    return TablePlan(
        layer=layer,
        table=table,
        version=log.version,
        files=len(everything),
        size_bytes=_size(everything),
        actions=(
            *_expire(log, keep, first_kept),
            *_compact(log, first_kept, now, settings),
            *_vacuum(log, settings),
            *_checkpoint(log, settings),
        ),
    )


def _first_kept_day(keep: timedelta | None, now: datetime, log: TableLog) -> date:
    """Of the days before it even the last moment is too old: by the clock, and by the newest row,
    for a clock that is ahead would drop what was written a moment ago."""
    if not keep:
        return date.min
    by_clock = (now.astimezone(UTC) - keep).date()
    return min(by_clock, _days_before(max(log.days), keep)) if log.days else by_clock


def _days_before(newest: date, keep: timedelta) -> date:
    """A part of a day counts as a whole one. Before the calendar's first day is none."""
    days = -(-keep // timedelta(days=1))
    return date.fromordinal(max(1, newest.toordinal() - days))


def _expire(log: TableLog, keep: timedelta | None, first_kept: date) -> list[Expire]:
    gone = {day: files for day, files in log.days.items() if day < first_kept}
    if not gone or not keep:
        return []
    files = [file for some in gone.values() for file in some]
    return [
        Expire(
            before=first_kept,
            why=f"rows are kept for {format_duration(keep)}",
            days=len(gone),
            files=len(files),
            size_bytes=_size(files),
        )
    ]


def _compact(
    log: TableLog, first_kept: date, now: datetime, settings: MaintenanceSettings
) -> list[Compact]:
    actions = []
    for day in sorted(day for day in log.days if day >= first_kept):
        groups = pack_day(day, log.days[day], now, settings)
        if groups:
            state = "closed" if is_closed(day, now, settings) else "still written"
            actions.append(
                Compact(
                    day=day,
                    why=f"{state}, {sum(map(len, groups))} of {len(log.days[day])} files are small",
                    bins=tuple(
                        Bin(paths=tuple(file.path for file in group), size_bytes=_size(group))
                        for group in groups
                    ),
                )
            )
    return actions


def _vacuum(log: TableLog, settings: MaintenanceSettings) -> list[Vacuum]:
    if not log.unneeded_files:
        return []
    why = f"no version of the last {format_duration(settings.vacuum_after)} needs them"
    hours = -(-int(settings.vacuum_after.total_seconds()) // 3_600)
    return [Vacuum(why=why, hours=hours, files=log.unneeded_files)]


def _checkpoint(log: TableLog, settings: MaintenanceSettings) -> list[Checkpoint]:
    if log.commits_to_read < settings.checkpoint_after_commits:
        return []
    why = "every reader reads them one by one"
    return [Checkpoint(why=why, commits=log.commits_to_read)]


def _size(files: list[DataFile]) -> int:
    return sum(file.size_bytes for file in files)
