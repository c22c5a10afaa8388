"""The DAG `replay`: one form for all pipelines."""

from __future__ import annotations

from millrace.platform.io.environment import platform_here
from millrace_airflow.task_dags import replay_dag

dag = replay_dag(platform_here())
