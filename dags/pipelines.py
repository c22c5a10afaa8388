"""One Airflow DAG for each file in dags/pipelines."""

from __future__ import annotations

from millrace_airflow.pipelines.dag_factory import build_dag, dags_here

globals().update(dags_here("pipeline", build_dag))
