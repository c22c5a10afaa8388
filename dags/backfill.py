"""The DAG `backfill.<name>` for each pipeline that has columns."""

from __future__ import annotations

from millrace_airflow.pipelines.dag_factory import dags_here
from millrace_airflow.task_dags import backfill_dag

globals().update(dags_here("backfill", backfill_dag))
