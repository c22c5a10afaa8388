#!/bin/sh
# Runs before each of Airflow's parts, and makes the checkout that Millrace looks for. The folder
# dags follows the bucket, so what is written lies beside it.
airflow=${AIRFLOW_HOME:-/usr/local/airflow}
export MILLRACE_HOME="$airflow/millrace"
mkdir -p "$MILLRACE_HOME/var"
ln -sfn "$airflow/dags" "$MILLRACE_HOME/dags"
for part in expectations infra schemas; do
    ln -sfn "$airflow/dags/home/$part" "$MILLRACE_HOME/$part"
done
