# a DAG
