"""The DAG `sites`: one form for all sites. (`dags/sites/` beside it holds their files.)"""

from __future__ import annotations

import os

from millrace.settings import Settings
from millrace_airflow.site_dag import sites_dag

dag = sites_dag(Settings.from_env(os.environ).layout)
