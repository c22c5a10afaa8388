"""The peer that is Spark as its and Delta's documentation show it: default settings, foreachBatch.

python -m benchmarks.contestants.spark_docs RACE.json: reads what there is, then ends.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

_READING = "sensor_id string, timestamp bigint, temperature double, unit string"


def run(race: dict[str, Any]) -> None:
    spark = (
        SparkSession.builder.appName("docs")
        .master("local[2]")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.extraClassPath", race["class_path"])
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config(
            "spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog"
        )
        .getOrCreate()
    )
    stream = spark.readStream.format("kafka").options(**race["kafka"]).load()

    def write(batch: DataFrame, _: int) -> None:
        batch.write.format("delta").mode("append").save(race["bronze"])
        if race["silver"]:
            typed(batch).write.format("delta").mode("append").save(race["silver"])

    query = (
        stream.writeStream.foreachBatch(write)
        .option("checkpointLocation", race["checkpoint"])
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def typed(batch: DataFrame) -> DataFrame:
    text = f.col("value").cast("string")
    return batch.withColumn("m", f.from_json(text, _READING)).select(
        *("topic", "partition", "offset", "timestamp"),
        f.col("m.sensor_id"),
        f.timestamp_millis("m.timestamp").alias("measured_at"),
        f.col("m.temperature").alias("value"),
        f.col("m.unit"),
        f.try_parse_json(text).alias("payload"),
    )


if __name__ == "__main__":
    run(json.loads(Path(sys.argv[1]).read_text()))
