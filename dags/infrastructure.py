"""The DAG `infrastructure`: Terraform, planned, agreed to and applied."""

from __future__ import annotations

import os

from millrace.settings import Settings
from millrace_airflow.infrastructure_dag import infrastructure_dag

dag = infrastructure_dag(Settings.from_env(os.environ).layout)
