"""A replay from a form: what is missing, a person's yes, and then adding it."""

from __future__ import annotations

from typing import Any

from airflow.sdk import Context

from millrace.base.instants import parse_instant
from millrace.repair.core.replay_spec import ReplayRequest, ReplayResult, ReplaySpec
from millrace.repair.text.replay_lines import result_lines
from millrace_airflow.base.approval import ApprovePlanOperator
from millrace_airflow.base.host import AirflowSkipException
from millrace_airflow.base.plain_errors import said_plainly
from millrace_airflow.tasks.task_operators import TaskOperator

_LOOK = "look"


class ReplayOperator(TaskOperator):
    """The span of the form; `dry_run` says what is missing and writes nothing."""

    def __init__(self, *, dry_run: bool, **kwargs: Any) -> None:
        # Which pipeline is the form's to say.
        super().__init__(pipeline="", **kwargs)
        self.dry_run = dry_run

    def execute(self, context: Context) -> dict[str, Any]:
        from millrace.repair.io.replay_run import replay

        with said_plainly():
            task = self._task(context["params"])
            result = replay(self.layout, task, self.say)
        lines = result_lines(result, task.origin)
        self.say_all(lines)
        return {"text": "\n".join(lines), "missing": missing(result), "added": result.added}

    def _task(self, form: Any) -> ReplaySpec:
        from millrace.repair.io.replay_run import plan_replay

        asked = asked_of(form)
        named = form["sites"] or (), form["topics"] or (), form["partitions"] or ()
        plan = plan_replay(self.layout, form["pipeline"], asked, form["source"], *named)
        return plan.model_copy(update={"dry_run": self.dry_run})


def asked_of(form: Any) -> ReplayRequest:
    since, until = form["since"], form["until"]
    return ReplayRequest(
        first=form["first_offset"],
        last=form["last_offset"],
        since=parse_instant("since", since) if since else None,
        until=parse_instant("until", until) if until else None,
    )


def missing(result: ReplayResult) -> int:
    return result.missing("bronze") + result.missing("refined")


class ApproveReplayOperator(ApprovePlanOperator):
    """Waits for a person, who sees the counts; skipped where there is nothing to decide."""

    def __init__(self, **kwargs: Any) -> None:
        question = "Add what is missing to {{ params.pipeline }}?"
        super().__init__(subject=question, shown_by=_LOOK, **kwargs)

    def execute(self, context: Context) -> Any:
        if not context["ti"].xcom_pull(task_ids=_LOOK)["missing"]:
            raise AirflowSkipException("nothing is missing")
        return super().execute(context)
