#!/bin/sh
# Runs a job and exits as it did: 128 + n where signal n ended it, which supervisord does not tell.
# A TERM is handed on, and the job's end waited for.
"$@" &
job=$!
trap 'kill -TERM "$job" 2>/dev/null' TERM
wait "$job"
code=$?
while kill -0 "$job" 2>/dev/null; do # the wait was ended by our own TERM, not by the job
    wait "$job"
    code=$?
done
exit "$code"
