"""Shows what is wrong in dags/pipelines and dags/sites as an Airflow import error.

It makes no DAG. An error raised in pipelines.py would take the DAGs of the good files down with it.
"""

from __future__ import annotations

import os

from millrace.settings import Settings
from millrace.specs.loader import load_pipelines

load_pipelines(Settings.from_env(os.environ).layout)
