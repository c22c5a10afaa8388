"""Rows that are missing are added, once, however many add them, and other days are not read."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from millrace.core.coordinates import Part, on_days
from millrace.core.ranges import Range, joined
from millrace.core.replay import Asked, ReplaySpec
from spark_jobs.coverage import ranges_of, words_of
from spark_jobs.fill import add_missing
from spark_jobs.replay import replay
from tests.spark.fake_stream import ENGINE, LENIENT, FakeStream

PART = Part("plant-a", "t", 0)


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> FakeStream:
    return FakeStream(spark, tmp_path)


@pytest.fixture
def source(spark: SparkSession, stream: FakeStream) -> DataFrame:
    """Twenty rows of bronze, taken away again."""
    stream.batch(20)
    rows = spark.read.format("delta").load(stream.tables.bronze).collect()
    stream.delete("bronze", "true")
    schema = spark.read.format("delta").load(stream.tables.bronze).schema
    return spark.createDataFrame(rows, schema)


def test_words_say_what_the_rows_are(spark: SparkSession) -> None:
    chance = random.Random(1)
    held = {o for o in range(5_000) if o < 2_000 or chance.random() < 0.9}
    rows = spark.createDataFrame(
        [(*PART, o) for o in held], "site string, topic string, partition int, offset bigint"
    )
    found = ranges_of(words_of({"a": rows, "b": rows.limit(0)}), {"a": "a", "not_b": "a & ~b"})
    expected = joined(Range(first=o, last=o) for o in held)
    assert found == {"a": {PART: expected}, "not_b": {PART: expected}}


def test_two_that_add_the_same_rows_at_once_add_them_once(
    source: DataFrame, stream: FakeStream
) -> None:
    table = stream.tables.bronze
    with ThreadPoolExecutor(3) as pool:
        added = list(pool.map(lambda _: add_missing(source, table, "true"), range(3)))
    assert sorted(added) == [0, 0, 20]
    assert stream.offsets("bronze") == list(range(20))


def test_adding_reads_no_other_day(source: DataFrame, stream: FakeStream) -> None:
    table = stream.tables.bronze
    elsewhere = source.select(*(_shifted(name) for name in source.columns))
    elsewhere.write.format("delta").mode("append").save(table)
    for file in Path(table).glob("day=2020-*/*.parquet"):
        file.unlink()
    today = on_days({row.day for row in source.select("day").collect()}, "t.")
    assert add_missing(source, table, today) == 20
    with pytest.raises(Exception, match=r"does not exist|FAILED_READ_FILE"):
        add_missing(source, table, "true")


def _shifted(name: str) -> Column:
    moved = {"day": f.lit("2020-01-01").cast("date"), "offset": f.col("offset") + 1_000}
    return moved.get(name, f.col(name)).alias(name)


def test_silver_and_quarantine_are_filled_from_bronze_once(
    spark: SparkSession, stream: FakeStream
) -> None:
    stream.batch(40)
    stream.batch(10, commit=False)
    for layer in ("silver", "quarantine"):
        stream.delete(layer, "offset BETWEEN 8 AND 12 OR offset >= 45")
    task = ReplaySpec(
        pipeline="temperature",
        engine=ENGINE,
        tables=stream.tables,
        folder=stream.home,
        inputs=(stream.site_input,),
        asked=Asked(since=datetime.now(UTC) - timedelta(1)),
        origin="bronze",
        refine=LENIENT,
    )
    first = replay(spark, task)
    assert first.added == {"silver": 4, "quarantine": 1}
    assert [part.missing_refined for part in first.parts] == [(Range(first=8, last=12),)]
    assert [part.left for part in first.parts] == [()]
    versions = [stream.version(layer) for layer in ("bronze", "silver", "quarantine")]
    assert replay(spark, task).added == {}
    assert [stream.version(layer) for layer in ("bronze", "silver", "quarantine")] == versions
