"""What the job that reads topics decides; spark_jobs/ingest does it."""
