"""The DAG `infrastructure`: Terraform, planned, agreed to and applied."""

from __future__ import annotations

from millrace.settings import layout_here
from millrace_airflow.infrastructure_dag import infrastructure_dag

dag = infrastructure_dag(layout_here())
