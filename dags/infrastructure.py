"""The DAG `infrastructure`: Terraform, planned, agreed to and applied."""

from __future__ import annotations

from millrace.settings.io.environment import layout_here
from millrace_airflow.cloud.infrastructure_dag import infrastructure_dag

dag = infrastructure_dag(layout_here())
