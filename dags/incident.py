"""The DAG `incident`, where a site carries platform events."""

from __future__ import annotations

import os

from millrace.settings import Settings
from millrace_airflow.incident_dag import incident_dag

dag = incident_dag(Settings.from_env(os.environ).layout)
