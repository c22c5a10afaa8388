"""Shows what is wrong in the files that people edit as an Airflow import error.

It makes no DAG. An error raised in pipelines.py would take the DAGs of the good files down with it.
"""

from __future__ import annotations

from millrace.pipelines.io.loader import load_events_site, load_pipelines
from millrace.pipelines.io.refining import check_quality
from millrace.platform.io.environment import platform_here

layout = platform_here()
check_quality(layout, load_pipelines(layout))
load_events_site(layout)
