"""Tasks on a pipeline's tables: each is a Spark job of its own that comes to an end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any

from airflow.sdk import Asset, BaseOperatorLink, Context

from millrace.incidents.core.event_sources import of_verdict
from millrace.incidents.io.outbox import tell
from millrace.maintenance.core.maintenance_plan import EXPIRE, TablePlan
from millrace.maintenance.text import held_lines, plan_lines, result_lines
from millrace.pipelines.core.spec import PipelineSpec
from millrace.platform.io.environment import platform_here
from millrace.quality.core.quality_task import QualityResult
from millrace.storage.io.objects import objects_at
from millrace.tasks.io.task_pipelines import find_pipeline
from millrace_airflow.base.host import (
    HAS_PAGES,
    AirflowException,
    AirflowFailException,
    AirflowSkipException,
)
from millrace_airflow.base.plain_errors import said_plainly
from millrace_airflow.pipelines.pipeline_operator import PipelineOperator


class TaskOperator(PipelineOperator):
    """What the Spark job prints stands in the task's log as it comes."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"pool": platform_here().task_pool, **kwargs})

    def say(self, line: str) -> None:
        self.log.info("%s", line)

    def say_all(self, lines: Sequence[str]) -> None:
        for line in lines:
            self.say(line)

    def spec_with_table(self, layer: str) -> PipelineSpec:
        """A pipeline that has not run yet has nothing to see to: the task is skipped."""
        pipeline = find_pipeline(self.layout, self.pipeline)
        place = self.layout.table(layer, pipeline.table)
        if not objects_at(place, self.layout.bucket).names("_delta_log"):
            raise AirflowSkipException(f"there is no table {place} yet")
        return pipeline

    def on_kill(self) -> None:
        # Called between two lines of the job; whoever reads them then ends the job.
        raise AirflowException("it was marked as done or failed; its Spark job is ended")


class PlanMaintenanceOperator(TaskOperator):
    """What the tables need, in the log before anything is done; starts no engine."""

    def execute(self, context: Context) -> dict[str, int]:
        with said_plainly():
            plans = self.plans(self.spec_with_table("bronze"), context)
        self.say_all(plan_lines(plans))
        return {plan.layer: len(plan.actions) for plan in plans}

    def plans(self, pipeline: PipelineSpec, context: Context) -> list[TablePlan]:
        from millrace.maintenance.io.maintenance_run import make_plans

        agreed = bool(context["params"].get("drop_held"))
        return make_plans(self.layout, pipeline, None, datetime.now(UTC), agreed=agreed)


class MaintainOperator(PlanMaintenanceOperator):
    """Does what is needed of some kinds; planned anew, because the job writes on meanwhile."""

    def __init__(self, *, kinds: Sequence[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.kinds = tuple(kinds)

    def execute(self, context: Context) -> dict[str, int]:
        from millrace.maintenance.io.maintenance_run import maintain

        with said_plainly():
            pipeline = self.spec_with_table("bronze")
            plans = [self._mine(plan) for plan in self.plans(pipeline, context)]
            result = maintain(self.layout, pipeline, plans, self.say)
        self.say_all(held_lines(plans, self.pipeline))
        if not result.done:
            raise AirflowSkipException(f"nothing to do: {', '.join(self.kinds)}")
        self.say_all(result_lines(result))
        return dict(Counter(done.layer for done in result.done))

    def _mine(self, plan: TablePlan) -> TablePlan:
        mine = tuple(action for action in plan.actions if action.kind in self.kinds)
        expiry = {} if EXPIRE in self.kinds else {"held": None, "is_news": False, "passed": None}
        return plan.model_copy(update={"actions": mine, **expiry})


class ResultPage(BaseOperatorLink):
    """A button on the task's page."""

    name = "Result page"

    def get_link(self, operator: QualityOperator, *, ti_key: object) -> str:  # type: ignore[override]
        return f"/fleet/api/pipelines/{operator.pipeline}/quality"


class QualityOperator(TaskOperator):
    """The suite over what came since the last check. A failed verdict fails the task.

    The asset is updated by success alone, so what depends on it runs on judged rows.
    """

    operator_extra_links = (ResultPage(),) if HAS_PAGES else ()

    def __init__(self, *, trusted: Asset, **kwargs: Any) -> None:
        super().__init__(outlets=[trusted], **kwargs)

    def execute(self, context: Context) -> dict[str, Any]:
        from millrace.quality.io.quality_run import check_rows

        with said_plainly():
            pipeline = self.spec_with_table("silver")
            result = check_rows(self.layout, pipeline, (None, None), "critical", self.say)
        self.say_all(verdict_lines(result))
        event = of_verdict(result)
        tell(self.layout, [event] if event else [])
        if not result.passed:
            raise AirflowFailException(f"{result.worst}: {result.failures}; page: {result.page}")
        return {"rows": result.rows, "span": result.span, "page": str(result.page)}


def verdict_lines(result: QualityResult) -> list[str]:
    lines = [
        f"{'passed' if one.passed else 'FAILED'} {one.severity}: {one.type} of {one.subject}"
        for one in result.outcomes
    ]
    return [*lines, f"{result.rows} rows, {result.span}; page: {result.page}"]


class BackfillOperator(TaskOperator):
    """Silver and quarantine of the run's day, made anew from bronze as the files are today."""

    def execute(self, context: Context) -> str:
        from millrace.repair.core.backfill_spec import result_lines
        from millrace.repair.io.backfill_run import backfill, plan_backfill

        day = day_of(context)
        with said_plainly():
            now = datetime.now(UTC)
            task = plan_backfill(self.layout, self.pipeline, day, day, now, dry_run=False)
            result = backfill(self.layout, task, self.say)
        self.say_all(result_lines(result))
        return day.isoformat()


def day_of(context: Context) -> date:
    """The form's day, or the day of a backfill's run; a scheduled run has nothing to mend."""
    asked = context["params"].get("day")
    if asked:
        return date.fromisoformat(str(asked))
    if context["dag_run"].run_type != "backfill":
        raise AirflowSkipException("only for days that are asked for: a backfill, or the form")
    return context["logical_date"].astimezone(UTC).date()
