"""A batch check as a task: which rows, judged by which suite, and what came of it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from millrace.base.model import Frozen
from millrace.jobs.core.task_spec import TaskSpec
from millrace.lake.core.refine import Severity
from millrace.quality.core.verdict import ExpectationOutcome, worst_of


class Checked(Frozen):
    """How far a table was checked; a table that was made anew has another id."""

    table_id: str
    version: int


class QualitySpec(TaskSpec):
    suite: Path
    # What Great Expectations gets to see: it cannot read a variant.
    columns: tuple[str, ...]
    # Where the last check ended; none: this is the first.
    checked: Checked | None = None
    from_version: int | None = None
    to_version: int | None = None
    fail_on: Severity = "critical"

    @property
    def page_file(self) -> Path:
        return self.folder / "page.html"


class QualityResult(Frozen):
    pipeline: str
    suite: str
    table: str
    table_id: str
    # The commits whose rows were judged; without a first one, all rows of the table.
    from_version: int | None
    to_version: int
    # Why all rows, or other than was asked.
    note: str = ""
    rows: int
    outcomes: tuple[ExpectationOutcome, ...] = ()
    fail_on: Severity
    checked_at: datetime
    seconds: float = 0.0
    page: Path

    @property
    def worst(self) -> Severity | None:
        """The worst severity of what failed."""
        return worst_of(self.outcomes)

    @property
    def failures(self) -> str:
        failed = (one for one in self.outcomes if not one.passed)
        return ", ".join(f"{one.type} of {one.subject}" for one in failed)

    @property
    def passed(self) -> bool:
        return not any(one.is_failure_at(self.fail_on) for one in self.outcomes)

    @property
    def span(self) -> str:
        if self.from_version is None:
            return f"all rows up to version {self.to_version}"
        return f"versions {self.from_version} to {self.to_version}"

    @property
    def checked(self) -> Checked:
        return Checked(table_id=self.table_id, version=self.to_version)
