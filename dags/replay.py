"""The DAG `replay`: one form for all pipelines."""

from __future__ import annotations

import os

from millrace.settings import Settings
from millrace_airflow.task_dags import replay_dag

dag = replay_dag(Settings.from_env(os.environ).layout)
