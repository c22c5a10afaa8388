"""What a table needs now, and why; the clock is an argument."""

from __future__ import annotations

from collections.abc import Container
from datetime import date, datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import Field

from millrace.base.duration import format_duration
from millrace.base.model import Frozen
from millrace.maintenance.core.logged_files import DataFile, TableLog
from millrace.maintenance.core.maintenance_settings import MaintenanceSettings
from millrace.maintenance.core.packing import is_closed, pack_day
from millrace.maintenance.core.retention import Passed, is_news, judge_days, unneeded_before

EXPIRE: Literal["expire"] = "expire"
_HELD = "more days at once than a run drops unasked: look at the clocks and `keep`, then say yes"


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


class Days(Frozen):
    """Whole days of a table."""

    days: tuple[date, ...]
    files: int
    size_bytes: int
    why: str

    @property
    def span(self) -> str:
        """For people."""
        count = "1 day" if len(self.days) == 1 else f"{len(self.days)} days"
        return f"{count}, {self.days[0]} to {self.days[-1]}"


class Expire(Days):
    """Delete these days."""

    kind: Literal["expire"] = EXPIRE


class Vacuum(Frozen):
    """Delete files that no version names and that are older than a moment."""

    kind: Literal["vacuum"] = "vacuum"
    why: str
    before: datetime
    files: int


class CheckpointAction(Frozen):
    kind: Literal["checkpoint"] = "checkpoint"
    why: str
    commits: int


Action = Annotated[Compact | Expire | Vacuum | CheckpointAction, Field(discriminator="kind")]


class TablePlan(Frozen):
    layer: str
    table: str
    version: int
    files: int
    size_bytes: int
    # In the order in which they are done; none: the table is well as it is.
    actions: tuple[Action, ...] = ()
    # Old enough to go, and more at once than a run drops without being asked to.
    held: Days | None = None
    # Whether a person should be told of them now.
    is_news: bool = False
    # To be remembered after a run that let days go, or had none to let go.
    passed: Passed | None = None


def plan_table(
    layer: str,
    table: str,
    log: TableLog,
    keep: timedelta | None,
    now: datetime,
    settings: MaintenanceSettings,
    passed: Passed | None = None,
    *,
    agreed: bool = False,
) -> TablePlan:
    """Days that go need no compaction, and a checkpoint at the end sums up all of it."""
    judged = judge_days(log, keep, now, passed, agreed=agreed)
    everything = [file for files in log.days.values() for file in files]
    kept_for = f"rows are kept for {format_duration(keep)}" if keep else ""
    return TablePlan(
        layer=layer,
        table=table,
        version=log.version,
        files=len(everything),
        size_bytes=_size(everything),
        actions=(
            *([Expire(**_days(log, judged.gone), why=kept_for)] if judged.gone else ()),
            *_compact(log, judged.gone, now, settings),
            *_vacuum(log, now, settings),
            *_checkpoint(log, settings),
        ),
        held=Days(**_days(log, judged.held), why=_HELD) if judged.held else None,
        is_news=is_news(judged, passed),
        passed=judged.passed,
    )


def _days(log: TableLog, days: tuple[date, ...]) -> dict[str, Any]:
    files = [file for day in days for file in log.days[day]]
    return {"days": days, "files": len(files), "size_bytes": _size(files)}


def _compact(
    log: TableLog, gone: Container[date], now: datetime, settings: MaintenanceSettings
) -> list[Compact]:
    actions = []
    for day in sorted(day for day in log.days if day not in gone):
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


def _vacuum(log: TableLog, now: datetime, settings: MaintenanceSettings) -> list[Vacuum]:
    before = unneeded_before(log, now, settings.vacuum_after)
    if not log.unneeded_files or before is None:
        return []
    why = f"no version of the last {format_duration(settings.vacuum_after)} needs them"
    return [Vacuum(why=why, before=before, files=log.unneeded_files)]


def _checkpoint(log: TableLog, settings: MaintenanceSettings) -> list[CheckpointAction]:
    if log.commits_to_read < settings.checkpoint_after_commits:
        return []
    why = "every reader reads them one by one"
    return [CheckpointAction(why=why, commits=log.commits_to_read)]


def _size(files: list[DataFile]) -> int:
    return sum(file.size_bytes for file in files)
