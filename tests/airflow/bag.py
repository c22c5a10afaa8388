"""Where the Airflow that runs the tests keeps its DagBag."""

from __future__ import annotations

try:
    from airflow.dag_processing.dagbag import DagBag
except ImportError:  # Airflow 3.0
    from airflow.models.dagbag import DagBag

__all__ = ["DagBag"]
