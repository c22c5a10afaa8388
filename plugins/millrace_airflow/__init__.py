"""Airflow's side of Millrace: DAGs from pipeline files, their operators and triggers."""
