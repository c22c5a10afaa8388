"""How a table is kept: the numbers that a plan is made with."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, Field

from millrace.base.duration import Duration
from millrace.base.model import Frozen

MB = 1_000_000
# Delta keeps what was removed for as long, and readers that began before then need it.
SHORTEST_VACUUM = timedelta(days=7)


def _refuse_hasty_vacuum(span: timedelta) -> timedelta:
    if span < SHORTEST_VACUUM:
        raise ValueError("below 7 days a vacuum takes files from readers that still need them")
    return span


class MaintenanceSettings(Frozen):
    # Files end between the half of it, from where they are left alone, and this.
    target_bytes: Annotated[int, Field(ge=2)] = 256 * MB
    # After midnight a batch or two still brings rows of the day before.
    closed_after: Duration = timedelta(hours=1)
    # A hot day's files come again and again: only old enough ones, and only many at once.
    hot_file_age: Duration = timedelta(minutes=15)
    hot_files: Annotated[int, Field(ge=2)] = 50
    # A file is rewritten only beside others of its size divided by this, all together. At 1 every
    # rewriting doubles a file at least, so a row is rewritten a few times and not all day long.
    hot_growth: Annotated[int, Field(ge=1)] = 1
    closed_growth: Annotated[int, Field(ge=1)] = 16
    vacuum_after: Annotated[Duration, AfterValidator(_refuse_hasty_vacuum)] = SHORTEST_VACUUM
    # Writers make one every 100 commits (lake/core/bronze.py); so far behind, they do not.
    checkpoint_after_commits: Annotated[int, Field(ge=1)] = 300

    @property
    def small_bytes(self) -> int:
        """Any two files below it fit into one, so each run gets on."""
        return self.target_bytes // 2
