#!/usr/bin/env bash
# Lives of a gateway and the tests with generated inputs, again and again with new ones; the first
# that fails ends it and names its seed: `pytest TEST --hypothesis-seed=SEED
# --hypothesis-profile=fuzz` repeats a test, and a life says itself how it is repeated.
set -eu
minutes=$1
ends=$((SECONDS + minutes * 60))
round=0
fuzz() { "$1" -m pytest "$2" -q -m generated --hypothesis-profile=fuzz --hypothesis-seed="$seed" -p no:cacheprovider || [ $? -eq 5 ]; }
while [ "$SECONDS" -lt "$ends" ] || [ "$round" -eq 0 ]; do
  round=$((round + 1))
  seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
  echo "round $round, seed $seed, $(((ends - SECONDS) / 60)) minutes left"
  "$PYTHON" -m tests.unit.gateway.world.years "$seed" 60
  fuzz "$PYTHON" tests/unit
  fuzz "$LAKE_PYTHON" tests/spark
done
