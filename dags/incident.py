"""The DAG `incident`, where a site carries platform events and Airflow can hear of them."""

from __future__ import annotations

import os

from millrace.settings import Settings
from millrace_airflow.host import SHARES_STREAMS

if SHARES_STREAMS:
    from millrace_airflow.incident_dag import incident_dag

    dag = incident_dag(Settings.from_env(os.environ).layout)
