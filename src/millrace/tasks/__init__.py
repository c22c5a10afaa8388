"""Tasks on a pipeline's tables, planned and run: the same for a command and for a DAG."""
