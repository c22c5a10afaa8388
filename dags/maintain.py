"""The DAG `maintain.<name>` for each pipeline."""

from __future__ import annotations

from millrace_airflow.pipelines.dag_factory import dags_here
from millrace_airflow.task_dags import maintain_dag

globals().update(dags_here("maintain", maintain_dag))
