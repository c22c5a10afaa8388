"""Where the Airflow that runs the tests keeps its DagBag, and its way to the database."""

from __future__ import annotations

from airflow.dag_processing.bundles.manager import DagBundlesManager

try:
    from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db
except ImportError:  # Airflow 3.0
    from airflow.models.dagbag import DagBag

    sync_bag_to_db = DagBag.sync_to_db

__all__ = ["DagBag", "tell_database"]


def tell_database(bag: DagBag) -> None:
    """As the DAG processor does."""
    DagBundlesManager().sync_bundles_to_db()
    sync_bag_to_db(bag, "dags-folder", None)
