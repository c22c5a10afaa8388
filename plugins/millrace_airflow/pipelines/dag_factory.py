"""From pipeline files to DAGs. A DAG's shape is data; one function turns it into operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.sdk import DAG, get_parsing_context

from millrace.deployments.text import pipeline_doc
from millrace.ingest.io.deployment import known_pipelines
from millrace.pipelines.core.spec import PipelineSpec
from millrace.settings.core.layout import Layout
from millrace.settings.io.environment import layout_here
from millrace_airflow.pipelines.pipeline_operators import (
    DeployOperator,
    PipelineOperator,
    ProvisionOperator,
    SuperviseOperator,
)

# `airflow db clean` removes runs by their start, however alive: so no run lasts for ever.
SHIFT = timedelta(hours=12)
# Any moment in the past. Without one, Airflow 3.3 gives the first two runs of a continuous DAG the
# same logical date, refuses the second ("run already exists"), and so never runs it again.
_START = datetime(2025, 1, 1, tzinfo=UTC)
CONTINUOUS: dict[str, Any] = {
    "start_date": _START,
    "max_active_runs": 1,
    "catchup": False,
    "is_paused_upon_creation": False,
}
# 5 + 10 + 20 + 40 + 60 s: a broker that starts with us is there by then.
_PATIENCE = {
    "retries": 5,
    "retry_delay": timedelta(seconds=5),
    "retry_exponential_backoff": True,
    "max_retry_delay": timedelta(minutes=1),
}


@dataclass(frozen=True)
class Task:
    """One box of a DAG, run after the one before it."""

    task_id: str
    operator: type[PipelineOperator]
    arguments: Mapping[str, Any] = field(default_factory=dict)


PIPELINE = (
    Task("provision", ProvisionOperator, _PATIENCE),
    Task("deploy", DeployOperator, _PATIENCE),
    Task("supervise", SuperviseOperator, {"shift": SHIFT}),
)


def dags_of_pipelines(
    layout: Layout, kind: str, build: Callable[[PipelineSpec], DAG | None], only: str | None = None
) -> dict[str, DAG]:
    """`<kind>.<name>` for every pipeline that has one; `only` the one of that id."""
    name = only.removeprefix(f"{kind}.") if only else None
    made = [build(spec) for spec in known_pipelines(layout, name)]
    return {dag.dag_id: dag for dag in made if dag}


def dags_here(kind: str, build: Callable[[PipelineSpec], DAG | None]) -> dict[str, DAG]:
    """What a file in dags/ makes. A task of one DAG reads that file too, and needs no other DAG."""
    layout = layout_here()
    return dags_of_pipelines(layout, kind, build, only=get_parsing_context().dag_id)


def build_dag(spec: PipelineSpec) -> DAG:
    with DAG(
        spec.dag_id,
        description=f"{', '.join(spec.topics)} to bronze.{spec.table}",
        doc_md=pipeline_doc(spec),
        schedule="@continuous",
        tags={"pipeline", spec.runner},
        **CONTINUOUS,
    ) as dag:
        before = None
        for task in PIPELINE:
            made = task.operator(task_id=task.task_id, pipeline=spec.name, **task.arguments)
            if before:
                before >> made
            before = made
    return dag
