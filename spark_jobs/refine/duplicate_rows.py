"""Twins: messages that a producer sent again though they had come. See
ingest/core/duplicates.py.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from py4j.java_gateway import JavaObject
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from millrace.base.ranges import Ranges
from millrace.ingest.core.duplicates import Seen, joined_seen, pairs_of, seen_of_pairs
from millrace.ingest.core.record_span import Span
from millrace.kafka.core.coordinates import from_on
from millrace.lake.core.silver import COORDINATES
from spark_jobs.engine.java import java_column, java_session, jvm
from spark_jobs.refine.producer_numbers import IDENTITY, numbered

TWIN = "_twin"


class Twins:
    """Of the rows of one batch. Their task has to meet each partition's rows in their order."""

    def __init__(self, spark: SparkSession, before: Seen) -> None:
        java = jvm(spark).millrace.duplicates.Twins
        self._before = before
        self._java: JavaObject = java(java_session(spark), json.dumps(pairs_of(before)))

    def marked(self, rows: DataFrame) -> DataFrame:
        return rows.withColumn(TWIN, Column(self._java.isTwin(java_column(f.col("headers")))))

    def seen(self) -> dict[str, Ranges]:
        """Up to and with the rows that were marked, once they went into a table."""
        return joined_seen(self._before, seen_of_pairs(json.loads(self._java.seen())))

    def are_at_odds(self) -> bool:
        """Whether two tasks took the same number of a sender for the first of it."""
        return bool(self._java.areAtOdds())


def seen_in(rows: DataFrame, before: Seen) -> dict[str, Ranges]:
    if not rows.inputFiles():
        return dict(before)
    twins = Twins(rows.sparkSession, before)
    twins.marked(rows.select("headers")).agg(f.count_if(TWIN)).collect()
    return twins.seen()


def lately_seen(spark: SparkSession, bronze: str, span: Span) -> dict[str, Ranges]:
    """For a checkpoint that has no memory yet: a twin comes minutes after the first, not days.

    Never what is in the span or behind it: a batch that was interrupted after bronze is in bronze,
    and all of its rows would pass for twins of themselves.
    """
    first = datetime.now(UTC).date() - timedelta(days=1)
    rows = spark.read.format("delta").load(bronze)
    its = rows.where((f.col("site") == span.site) & (f.col("day") >= f.lit(first)))
    return seen_in(its.where(f"NOT {from_on(span.start())}"), {})


def in_one_task(rows: DataFrame) -> DataFrame:
    """As a stream has them: those of a partition one behind the other, and all in one task."""
    return rows.coalesce(1).sortWithinPartitions("topic", "partition", "offset")


def marked_among(rows: DataFrame, bronze: DataFrame) -> DataFrame:
    """Rows of a table, of which bronze may have a twin that came before."""
    twins = f.broadcast(_twins_in(bronze).withColumn(TWIN, f.lit(True)))
    joined = rows.join(twins, [*COORDINATES], "left")
    return joined.withColumn(TWIN, f.coalesce(TWIN, f.lit(False))).select(*rows.columns, TWIN)


def _twins_in(bronze: DataFrame) -> DataFrame:
    """Numbers are compared by 64 first, so that only what stands twice is sorted."""
    named = numbered(bronze).withColumn("word", f.shiftright("number", 6))
    words = [*IDENTITY, "word"]
    bit = f.expr("shiftleft(1L, cast(number & 63 as int))")
    counted = named.groupBy(*words).agg(f.count("*").alias("rows"), f.bit_or(bit).alias("mask"))
    crowded = counted.where("rows > bit_count(mask)").select(*words)
    as_they_came = Window.partitionBy(*IDENTITY, "number").orderBy(
        "topic", "began", "partition", "offset"
    )
    # All rows of a topic come before those of the next that has its name.
    of_topic = Window.partitionBy("site", "topic", "topic_id")
    doubled = named.join(f.broadcast(crowded), words).withColumn(
        "began", f.min("ingested_at").over(of_topic)
    )
    return (
        doubled.withColumn("nth", f.row_number().over(as_they_came))
        .where("nth > 1")
        .select(*COORDINATES)
    )
