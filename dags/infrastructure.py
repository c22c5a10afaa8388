"""The DAG `infrastructure`: Terraform, planned, agreed to and applied."""

from __future__ import annotations

from millrace.platform.io.environment import platform_here
from millrace_airflow.cloud.infrastructure_dag import infrastructure_dag

dag = infrastructure_dag(platform_here())
