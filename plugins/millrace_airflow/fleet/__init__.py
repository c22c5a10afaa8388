"""The Fleet page: all pipelines at a glance, in Airflow's own look."""
