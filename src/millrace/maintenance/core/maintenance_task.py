"""Maintenance as a task: what was planned, and what came of it."""

from __future__ import annotations

from millrace.base.model import Frozen
from millrace.jobs.core.task_spec import TaskSpec
from millrace.maintenance.core.maintenance_plan import Action, TablePlan


class MaintainSpec(TaskSpec):
    plans: tuple[TablePlan, ...]


class Gain(Frozen):
    """Of the files that an action touched."""

    files_before: int = 0
    files_after: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    # Why less was done than planned; the next run takes it up.
    left: str = ""

    def __add__(self, other: Gain) -> Gain:
        return Gain(
            files_before=self.files_before + other.files_before,
            files_after=self.files_after + other.files_after,
            bytes_before=self.bytes_before + other.bytes_before,
            bytes_after=self.bytes_after + other.bytes_after,
            left=self.left or other.left,
        )


class DoneAction(Frozen):
    """One action, as it really went."""

    layer: str
    action: Action
    gain: Gain
    seconds: float


class MaintainResult(Frozen):
    done: tuple[DoneAction, ...] = ()
