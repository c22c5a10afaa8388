"""The DAGs of tasks: from pipeline files too, and their shapes as data."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, Asset, AssetWatcher, Param

from millrace.deployments import text as docs
from millrace.ingest.io.ingest_deployment import known_pipelines
from millrace.maintenance.core.maintenance_plan import EXPIRE
from millrace.pipelines.core.spec import PipelineSpec
from millrace.platform.core.platform import Platform
from millrace.tasks.core.schedule import hourly, nightly
from millrace_airflow.base.host import AssetOrTimeSchedule, CronTriggerTimetable
from millrace_airflow.base.plan_approve_do import plan_approve_do
from millrace_airflow.quality.commit_trigger import NewRowsTrigger
from millrace_airflow.repair.replay_fields import replay_form, site_names
from millrace_airflow.repair.replay_operators import ReplayOperator, approve_replay
from millrace_airflow.repair.verify_operators import VerifyOperator
from millrace_airflow.tasks.task_operators import (
    BackfillOperator,
    MaintainOperator,
    PlanMaintenanceOperator,
    QualityOperator,
)

# Without a start_date the first run is at the schedule's next time, and not at once.
_COMMON: dict[str, Any] = {
    "catchup": False,
    "max_active_runs": 1,
    "is_paused_upon_creation": False,
}
# An object store or a broker that is away for a moment.
_PATIENCE = {"retries": 2, "retry_delay": timedelta(minutes=1)}


def maintain_dag(spec: PipelineSpec) -> DAG:
    """Days that go need no compaction, so they go first."""
    with DAG(
        f"maintain.{spec.name}",
        description=f"Compacts and cleans the tables of {spec.name}",
        doc_md=docs.maintain_doc(spec),
        schedule=CronTriggerTimetable(hourly(spec.name), timezone="UTC"),
        params={
            "drop_held": Param(
                default=False,
                type="boolean",
                title="Drop the days held back",
                description="More days at once than a run drops unasked: see the plan's log.",
            )
        },
        tags={"maintain", spec.name},
        default_args=_PATIENCE,
        **_COMMON,
    ) as dag:
        before: Any = PlanMaintenanceOperator(task_id="plan", pipeline=spec.name)
        for name, kinds in (
            ("retention", [EXPIRE]),
            ("compact", ["compact"]),
            ("vacuum", ["vacuum", "checkpoint"]),
        ):
            made = MaintainOperator(
                task_id=name, pipeline=spec.name, kinds=kinds, trigger_rule="none_failed"
            )
            before >> made
            before = made
    return dag


def quality_dag(spec: PipelineSpec) -> DAG | None:
    if spec.quality is None:
        return None
    every_s = spec.quality_every.total_seconds()
    rows = Asset(
        f"silver/{spec.table}",
        watchers=[
            AssetWatcher(f"{spec.name}-rows", NewRowsTrigger(spec.name, spec.table, every_s))
        ],
    )
    each_night = CronTriggerTimetable(nightly(spec.name), timezone="UTC")
    with DAG(
        f"quality.{spec.name}",
        description=f"Judges the new rows of silver.{spec.table}",
        doc_md=docs.quality_doc(spec),
        schedule=AssetOrTimeSchedule(timetable=each_night, assets=rows),
        tags={"quality", spec.name},
        default_args=_PATIENCE,
        **_COMMON,
    ) as dag:
        trusted = Asset(f"trusted/{spec.table}")
        QualityOperator(task_id="check", pipeline=spec.name, trusted=trusted)
    return dag


def verify_dag(spec: PipelineSpec) -> DAG:
    """Each night: more often than a broker deletes, or nobody could tell any more."""
    with DAG(
        f"verify.{spec.name}",
        description=f"Looks for gaps in the tables of {spec.name}",
        doc_md=docs.verify_doc(spec),
        schedule=CronTriggerTimetable(nightly(f"verify.{spec.name}"), timezone="UTC"),
        tags={"verify", spec.name},
        default_args=_PATIENCE,
        **_COMMON,
    ) as dag:
        VerifyOperator(task_id="verify", pipeline=spec.name)
    return dag


def backfill_dag(spec: PipelineSpec) -> DAG | None:
    """Scheduled, because Airflow's backfill takes its days from the schedule."""
    if not spec.columns:
        return None
    with DAG(
        f"backfill.{spec.name}",
        description=f"Makes silver and quarantine of {spec.name} anew, day by day",
        doc_md=docs.backfill_doc(spec),
        schedule=CronTriggerTimetable("0 0 * * *", timezone="UTC"),
        params={
            "day": Param(
                None,
                type=["null", "string"],
                format="date",
                title="Day",
                description="One day (UTC) to make anew. For several: Trigger, then Backfill.",
            )
        },
        tags={"backfill", spec.name},
        **_COMMON,
    ) as dag:
        BackfillOperator(task_id="backfill", pipeline=spec.name)
    return dag


def replay_dag(layout: Platform) -> DAG | None:
    pipelines = known_pipelines(layout)
    if not pipelines:
        return None
    return plan_approve_do(
        "replay",
        form=replay_form(pipelines, site_names(layout)),
        plan=lambda: ReplayOperator(task_id="look", dry_run=True),
        approve=approve_replay,
        do=lambda: ReplayOperator(task_id="add", dry_run=False),
        description="Adds what is missing of a span to the tables, after a person's yes",
        doc_md=docs.REPLAY,
    )
