"""From pipeline files to DAGs."""

from __future__ import annotations

from collections.abc import Callable

from airflow.sdk import DAG, get_parsing_context

from millrace.deployments.text import pipeline_doc
from millrace.ingest.core.ingest_spec import INGEST
from millrace.ingest.io.ingest_deployment import known_pipelines
from millrace.pipelines.core.spec import PipelineSpec
from millrace.platform.core.platform import Platform
from millrace.platform.io.environment import platform_here
from millrace_airflow.jobs.job_dag import job_dag


def dags_of_pipelines(
    layout: Platform,
    kind: str,
    build: Callable[[PipelineSpec], DAG | None],
    only: str | None = None,
) -> dict[str, DAG]:
    """`<kind>.<name>` for every pipeline that has one; `only` the one of that id."""
    name = only.removeprefix(f"{kind}.") if only else None
    made = [build(spec) for spec in known_pipelines(layout, name)]
    return {dag.dag_id: dag for dag in made if dag}


def dags_here(kind: str, build: Callable[[PipelineSpec], DAG | None]) -> dict[str, DAG]:
    """What a file in dags/ makes. A task of one DAG reads that file too, and needs no other DAG."""
    layout = platform_here()
    return dags_of_pipelines(layout, kind, build, only=get_parsing_context().dag_id)


def build_dag(spec: PipelineSpec) -> DAG:
    return job_dag(
        INGEST,
        spec.name,
        dag_id=spec.dag_id,
        description=f"{', '.join(spec.topics)} to bronze.{spec.table}",
        doc=pipeline_doc(spec),
        tags={"pipeline", spec.runner},
    )
