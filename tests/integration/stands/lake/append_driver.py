"""A Spark driver of its own at a table: appends, or compacts it, and says what was acknowledged.

python -m tests.integration.stands.lake.append_driver ENGINE.json TABLE NAME COUNT
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from millrace.settings.core.engine import EngineSpec
from spark_jobs.engine.session import build_session
from spark_jobs.engine.task_main import say

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OPTIMIZER = "optimizer"


def main() -> None:
    engine, table, name, count = sys.argv[1:]
    spark = build_session(name, EngineSpec.model_validate_json(Path(engine).read_text()))
    spark.read.format("delta").load(table).count()
    say("ready")
    sys.stdin.readline()
    if name == OPTIMIZER:
        optimize(spark, table, int(count))
    else:
        append(spark, table, name, int(count))


def append(spark: SparkSession, table: str, name: str, count: int) -> None:
    for number in range(count):
        row = spark.range(number, number + 1, 1, 1).selectExpr(
            f"'{name}' AS writer", "id AS number"
        )
        row.write.format("delta").mode("append").save(table)
        say(f"{name} {number}")


def optimize(spark: SparkSession, table: str, count: int) -> None:
    for _ in range(count):
        metrics = spark.sql(f"OPTIMIZE delta.`{table}`").first().metrics
        say(f"compacted {metrics.numFilesRemoved}")


if __name__ == "__main__":
    main()
