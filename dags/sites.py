"""The DAG `sites`: one form for all sites. (`dags/sites/` beside it holds their files.)"""

from __future__ import annotations

from millrace.platform.io.environment import platform_here
from millrace_airflow.site_changes.site_dag import sites_dag

dag = sites_dag(platform_here())
