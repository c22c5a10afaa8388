"""The DAG that keeps one job, of any kind. Its shape is data; one function makes operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.sdk import DAG

from millrace_airflow.jobs.job_operators import (
    DeployOperator,
    JobOperator,
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
    operator: type[JobOperator]
    arguments: Mapping[str, Any] = field(default_factory=dict)


TASKS = (
    Task("provision", ProvisionOperator, _PATIENCE),
    Task("deploy", DeployOperator, _PATIENCE),
    Task("supervise", SuperviseOperator, {"shift": SHIFT}),
)


def job_dag(kind: str, job: str, *, dag_id: str, description: str, doc: str, tags: set[str]) -> DAG:
    """`dag_id` is the one that the kind gives: by it the patrol asks whether a run is there."""
    with DAG(
        dag_id,
        description=description,
        doc_md=doc,
        schedule="@continuous",
        tags=tags,
        **CONTINUOUS,
    ) as dag:
        before = None
        for task in TASKS:
            made = task.operator(task_id=task.task_id, kind=kind, job=job, **task.arguments)
            if before:
                before >> made
            before = made
    return dag
