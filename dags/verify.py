"""The DAG `verify.<name>` for each pipeline."""

from __future__ import annotations

from millrace_airflow.pipelines.dag_factory import dags_here
from millrace_airflow.task_dags import verify_dag

globals().update(dags_here("verify", verify_dag))
