"""A replay from a form: what is missing, a person's yes, and then adding it."""

from __future__ import annotations

from typing import Any

from airflow.sdk import Context

from millrace.repair.core.replay_form import ReplayForm
from millrace.repair.core.replay_spec import ReplayResult, ReplaySpec
from millrace.repair.text.replay_lines import result_lines
from millrace_airflow.base.plain_errors import said_plainly
from millrace_airflow.base.plan_approve_do import ApprovePlanOperator
from millrace_airflow.tasks.task_operators import TaskOperator

_LOOK = "look"


class ReplayOperator(TaskOperator):
    """The span of the form; `dry_run` says what is missing and writes nothing."""

    def __init__(self, *, dry_run: bool, **kwargs: Any) -> None:
        # Which pipeline is the form's to say.
        super().__init__(pipeline="", **kwargs)
        self._writes_nothing = dry_run

    def execute(self, context: Context) -> dict[str, Any]:
        from millrace.repair.io.replay_run import replay

        with said_plainly():
            task = self._task(context["params"])
            result = replay(self.layout, task, self.say)
        lines = result_lines(result, task.origin)
        self.say_all(lines)
        return {"text": "\n".join(lines), "missing": missing(result), "added": result.added}

    def _task(self, values: Any) -> ReplaySpec:
        from millrace.repair.io.replay_run import plan_replay

        form = ReplayForm.model_validate(dict(values))
        named = form.sites or (), form.topics or (), form.partitions or ()
        plan = plan_replay(self.layout, form.pipeline, form.request(), form.source, *named)
        return plan.model_copy(update={"dry_run": self._writes_nothing})


def missing(result: ReplayResult) -> int:
    return result.missing("bronze") + result.missing("refined")


def approve_replay() -> ApprovePlanOperator:
    """A person sees the counts."""
    return ApprovePlanOperator(
        task_id="approve",
        subject="Add what is missing to {{ params.pipeline }}?",
        shown_by=_LOOK,
        needs="missing",
        needless="nothing is missing",
    )
