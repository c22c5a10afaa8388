#!/usr/bin/env bash
# The tests of tests/spark with the newest patches of Spark and Delta that can be had, in a copy of
# this checkout; says which versions those are, and what broke. Nothing of the checkout changes.
set -eu
home=$(cd "$(dirname "$0")/.." && pwd)
copy=$(mktemp -d "${TMPDIR:-/tmp}/newest-spark.XXXXXX")
trap 'rm -rf "$copy"' EXIT
git -C "$home" ls-files -z | (cd "$home" && xargs -0 cp --parents -t "$copy")
cp -r "$home/.venv-tools" "$copy/"
cd "$copy"

sed -i 's/"pyspark==\(4\.1\)\.\([0-9]*\)"/"pyspark>=\1.\2,<4.2"/; s/"delta-spark==\(4\.4\)\.\([0-9]*\)"/"delta-spark>=\1.\2,<4.5"/' pyproject.toml
sed -i 's|<delta>4.4.0<|<delta>[4.4.0,4.5)<|; s|<spark>4.1.1<|<spark>[4.1.1,4.2)<|; s|<spark.kafka>4.1.3<|<spark.kafka>[4.1.3,4.2)<|' infra/pom.xml
.venv-tools/bin/python -m uv lock --quiet --upgrade-package pyspark --upgrade-package delta-spark
install() { PYTHONPATH=src python3 -m millrace.stack.install.install "$@"; }
# Newer jars are not those that the checkout pins: the copy pins them as they come.
install --dev || { install --pin && install --dev; }

echo "what these tests ran with:"
.venv-tools/bin/python -m uv pip list --python .venv-lake/bin/python 2>/dev/null | grep -E '^(pyspark|delta-spark) '
find .jars/spark -name '*.jar' -printf '%f\n' | grep -E '^(delta-|spark-)' | sort
echo "with Millrace's own reader and writer, and with Delta's:"
.venv-lake/bin/python -m pytest tests/spark -q "$@"
