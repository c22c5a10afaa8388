"""Airflow's pool of tasks: how many may run at once, as they share the machine with the jobs."""

POOL = "millrace-tasks"
