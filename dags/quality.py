"""The DAG `quality.<name>` for each pipeline that has a suite."""

from __future__ import annotations

from millrace_airflow.pipelines.dag_factory import dags_here
from millrace_airflow.task_dags import quality_dag

globals().update(dags_here("quality", quality_dag))
