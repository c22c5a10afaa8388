"""From Kafka's records to bronze rows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from millrace.lake.core.bronze import COLUMNS
from spark_jobs.engine.java import java_column, jvm


def bronze_rows(records: DataFrame, site: str, ids: Mapping[str, str]) -> DataFrame:
    """Records as Kafka's source gives them, as the bronze table wants them.

    `ids`: of the incarnations of the topics that they are of.
    """
    planned = jvm(records.sparkSession).millrace.refine.Moment.now()
    values: dict[str, Column] = {
        "site": f.lit(site),
        "topic_id": _topic_id(ids),
        "kafka_time": f.col("timestamp"),
        # When the batch was planned, the same for all its rows; readable they are when it is done.
        "ingested_at": Column(planned.column()),
        # The broker's day: the same for a record however often it is read
        # (kafka/core/record_time.py).
        "day": Column(planned.day(java_column(f.col("timestamp")))),
    }
    return records.select(
        *(values.get(name, f.col(name)).cast(kind).alias(name) for name, kind in COLUMNS)
    )


def _topic_id(ids: Mapping[str, str]) -> Column:
    (_, last), *others = ids.items()
    return reduce(
        lambda rest, one: f.when(f.col("topic") == one[0], f.lit(one[1])).otherwise(rest),
        others,
        f.lit(last),
    )
