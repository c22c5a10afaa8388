"""The DAG `patrol`: no job runs that nobody watches."""

from __future__ import annotations

from millrace_airflow.jobs.patrol_operators import patrol_dag

dag = patrol_dag()
