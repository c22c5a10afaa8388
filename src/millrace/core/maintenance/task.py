"""Maintenance as a task: what was planned, and what came of it."""

from __future__ import annotations

from millrace.core.maintenance.plan import TablePlan
from millrace.core.model import Frozen
from millrace.core.task import TaskSpec


class MaintainSpec(TaskSpec):
    plans: tuple[TablePlan, ...]


class Done(Frozen):
    """One action, as it really went."""

    layer: str
    what: str
    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int
    seconds: float
    # Why less was done than planned; the next run takes it up.
    left: str = ""


class MaintainResult(Frozen):
    done: tuple[Done, ...]
