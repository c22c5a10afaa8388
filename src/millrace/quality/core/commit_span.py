"""Which commits of a table the next check looks at."""

from __future__ import annotations

from millrace.base.errors import MillraceError
from millrace.base.model import Frozen
from millrace.quality.core.quality_task import Checked, QualitySpec


class LogHistory(Frozen):
    """What a table's log still holds."""

    table_id: str
    earliest: int
    latest: int


class CommitSpan(Frozen):
    """Commits, both ends included; without a first one, all rows there are at the last."""

    first: int | None
    last: int
    note: str = ""

    @property
    def is_empty(self) -> bool:
        return self.first is not None and self.first > self.last


class VersionError(MillraceError):
    """Versions that the table has not, or no longer."""


def plan_span(task: QualitySpec, history: LogHistory) -> CommitSpan:
    last = _last(task.to_version, history)
    if task.from_version is not None:
        _check_first(task.from_version, last, history)
        return CommitSpan(first=task.from_version, last=last)
    return _since(task.checked, last, history)


def _last(wanted: int | None, history: LogHistory) -> int:
    if wanted is not None and not history.earliest <= wanted <= history.latest:
        raise VersionError(
            f"--to-version {wanted}: the table's log holds versions {history.earliest} to"
            f" {history.latest}"
        )
    return history.latest if wanted is None else wanted


def _check_first(first: int, last: int, history: LogHistory) -> None:
    if first > last:
        raise VersionError(f"--from-version {first} comes after the last version, {last}")
    if first < history.earliest:
        raise VersionError(
            f"--from-version {first}: the log begins with version {history.earliest};"
            " leave it out to judge all rows of the table"
        )


def _since(checked: Checked | None, last: int, history: LogHistory) -> CommitSpan:
    if checked is None:
        return CommitSpan(first=None, last=last, note="the first check of this table")
    if checked.table_id != history.table_id:
        return CommitSpan(
            first=None, last=last, note="the table was made anew since the last check"
        )
    first = checked.version + 1
    if first < history.earliest:
        gone = f"the log no longer has version {first}"
        return CommitSpan(first=None, last=last, note=f"{gone}, where the last check ended")
    return CommitSpan(first=first, last=last)
