"""One Airflow DAG for each file in dags/pipelines."""

from __future__ import annotations

import os

from airflow.sdk import get_parsing_context

from millrace.settings import Settings
from millrace_airflow.dag_factory import pipeline_dags

# A task of one DAG reads this file too, and needs no other DAG.
globals().update(
    pipeline_dags(
        Settings.from_env(os.environ).layout,
        only=get_parsing_context().dag_id,
    )
)
