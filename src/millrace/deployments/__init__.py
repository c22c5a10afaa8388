"""What the DAG of a pipeline does, without Airflow: provision, keep, watch."""
