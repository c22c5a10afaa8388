"""Jobs that come to an end, run for a command as for a DAG."""
