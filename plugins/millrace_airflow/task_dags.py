"""The DAGs of tasks: from pipeline files too, and their shapes as data."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, Asset, AssetOrTimeSchedule, AssetWatcher, CronTriggerTimetable, Param

from millrace.core.errors import MillraceError
from millrace.core.layout import Layout
from millrace.core.pipeline import PipelineSpec
from millrace.core.schedule import hourly, nightly
from millrace.specs.loader import load_sites
from millrace_airflow import docs
from millrace_airflow.commits import NewRowsTrigger
from millrace_airflow.deployment import known_pipelines
from millrace_airflow.replay_operators import ApproveReplayOperator, ReplayOperator
from millrace_airflow.task_operators import (
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
        tags={"maintain", spec.name},
        default_args=_PATIENCE,
        **_COMMON,
    ) as dag:
        before: Any = PlanMaintenanceOperator(task_id="plan", pipeline=spec.name)
        for name, kinds in (
            ("retention", ["expire"]),
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


def replay_dag(layout: Layout) -> DAG | None:
    pipelines = known_pipelines(layout)
    if not pipelines:
        return None
    with DAG(
        "replay",
        description="Adds what is missing of a span to the tables, after a person's yes",
        doc_md=docs.REPLAY,
        schedule=None,
        params=_replay_form(pipelines, _site_names(layout)),
        tags={"replay"},
        **_COMMON,
    ) as dag:
        look = ReplayOperator(task_id="look", dry_run=True)
        (
            look
            >> ApproveReplayOperator(task_id="approve")
            >> ReplayOperator(task_id="add", dry_run=False)
        )
    return dag


def _site_names(layout: Layout) -> list[str]:
    try:
        return [site.name for site in load_sites(layout)]
    except MillraceError:
        # dags/check_files.py shows what is wrong; the form still has its other fields.
        return []


def _replay_form(pipelines: list[PipelineSpec], sites: list[str]) -> dict[str, Param]:
    names = sorted(spec.name for spec in pipelines)
    topics = sorted({topic for spec in pipelines for topic in spec.topics})
    return {
        "pipeline": Param(
            names[0],
            enum=names,
            title="Pipeline",
            description="Its tables get what they miss. What is there is left alone.",
        ),
        "source": Param(
            "kafka",
            enum=["kafka", "bronze"],
            title="Read from",
            description="kafka fills bronze and what is made of it; bronze fills silver and"
            " quarantine alone.",
        ),
        "sites": _several("Sites", sites),
        "topics": _several("Topics", topics),
        "partitions": Param(
            None,
            type=["null", "array"],
            items={"type": "integer", "minimum": 0},
            title="Partitions",
            description="None: all of them.",
        ),
        "since": _moment("From", "Of the broker's time, UTC. Empty: from the beginning."),
        "until": _moment("Until", "What came at this time is left out. Empty: up to now."),
        "first_offset": _offset("First offset", "Needs one site, one topic and one partition."),
        "last_offset": _offset("Last offset", "Included."),
        "dry_run": Param(
            False,
            type="boolean",
            title="Dry run",
            description="Only say what is missing; ask nobody and write nothing.",
        ),
    }


def _several(title: str, known: list[str]) -> Param:
    return Param(
        None,
        type=["null", "array"],
        items={"type": "string", "enum": known} if known else {"type": "string"},
        examples=known,
        title=title,
        description="None: all of the pipeline's.",
    )


def _moment(title: str, text: str) -> Param:
    return Param(None, type=["null", "string"], format="date-time", title=title, description=text)


def _offset(title: str, text: str) -> Param:
    return Param(None, type=["null", "integer"], minimum=0, title=title, description=text)
