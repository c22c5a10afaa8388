"""The DAG `prune`: Airflow's database and logs do not grow for ever."""

from __future__ import annotations

from millrace_airflow.maintenance.prune_operators import prune_dag

dag = prune_dag()
