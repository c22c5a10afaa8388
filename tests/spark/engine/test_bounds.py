"""What a job holds is bounded, however many senders and partitions there are."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from millrace.ingest.core.duplicates import MOST_SENDERS, pairs_of
from spark_jobs.refine.duplicate_rows import TWIN, Twins


def test_a_batch_of_a_hundred_thousand_senders_leaves_a_bounded_memory(spark: SparkSession) -> None:
    fields = {"producer": "concat('robot-', id)", "epoch": "'7'", "seq": "'1'"}
    named = ", ".join(
        f"named_struct('key', 'millrace-{name}', 'value', cast({text} as binary))"
        for name, text in fields.items()
    )
    rows = spark.range(100_000, numPartitions=2).select(f.expr(f"array({named})").alias("headers"))
    twins = Twins(spark, {})
    assert twins.marked(rows).where(TWIN).count() == 0
    kept = twins.seen()
    assert len(kept) == MOST_SENDERS
    assert len(json.dumps(pairs_of(kept))) < 1_000_000, "goes to each task of the next batch"
    assert not twins.are_at_odds()
    again = Twins(spark, kept)
    assert again.marked(rows).where(TWIN).count() == MOST_SENDERS


@pytest.mark.parametrize(
    ("partitions", "wished", "each"),
    [
        (1, 4 << 20, 4 << 20),
        (16, 4 << 20, 4 << 20),
        (500, 4 << 20, 134_217),
        (5_000, 4 << 20, 64 << 10),
    ],
)
def test_consumers_fetch_less_ahead_the_more_of_them_there_are(
    spark: SparkSession, partitions: int, wished: int, each: int
) -> None:
    prefetch = spark._jvm.millrace.kafka.Prefetch  # noqa: SLF001 - the only door
    assert prefetch.each(64 << 20, partitions, wished) == each
