"""The DAG `backfill.<name>` for each pipeline that has columns."""

from __future__ import annotations

import os

from airflow.sdk import get_parsing_context

from millrace.settings import Settings
from millrace_airflow.dag_factory import dags_of_pipelines
from millrace_airflow.task_dags import backfill_dag

globals().update(
    dags_of_pipelines(
        Settings.from_env(os.environ).layout,
        "backfill",
        backfill_dag,
        only=get_parsing_context().dag_id,
    )
)
