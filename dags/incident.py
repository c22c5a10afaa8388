"""The DAG `incident`, where a site carries platform events and Airflow can hear of them."""

from __future__ import annotations

from millrace.platform.io.environment import platform_here
from millrace_airflow.base.host import SHARES_STREAMS

if SHARES_STREAMS:
    from millrace_airflow.incidents.incident_dag import incident_dag

    dag = incident_dag(platform_here())
