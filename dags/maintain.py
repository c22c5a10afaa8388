"""The DAG `maintain.<name>` for each pipeline."""

from __future__ import annotations

import os

from airflow.sdk import get_parsing_context

from millrace.settings import Settings
from millrace_airflow.dag_factory import dags_of_pipelines
from millrace_airflow.task_dags import maintain_dag

globals().update(
    dags_of_pipelines(
        Settings.from_env(os.environ).layout,
        "maintain",
        maintain_dag,
        only=get_parsing_context().dag_id,
    )
)
