"""Rows that are missing are added, once, however many add them, and other days are not read."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from millrace.base.ranges import Range, joined
from millrace.kafka.core.coordinates import Part
from millrace.lake.core.silver import COORDINATES
from millrace.repair.core.replay_spec import ReplayRequest, ReplaySpec
from spark_jobs.repair.coverage import ranges_of, words_of
from spark_jobs.repair.repair_commits import add, next_number, until_first
from spark_jobs.repair.replay import replay
from tests.spark.fake_stream import ENGINE, LENIENT, FakeStream

PART = Part("plant-a", "t", 0, "id")


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
        [(*PART, o) for o in held],
        "site string, topic string, partition int, topic_id string, offset bigint",
    )
    found = ranges_of(words_of({"a": rows, "b": rows.limit(0)}), {"a": "a", "not_b": "a & ~b"})
    expected = joined(Range(first=o, last=o) for o in held)
    assert found == {"a": {PART: expected}, "not_b": {PART: expected}}


def test_repairs_of_a_table_come_one_after_the_other(
    spark: SparkSession, source: DataFrame, stream: FakeStream
) -> None:
    table = stream.tables.bronze

    def add_missing(_: int) -> int:
        number = next_number(spark, table)
        held = spark.read.format("delta").load(table)
        return add(
            source.join(held, [*COORDINATES], "left_anti").select(source.columns), table, number
        )

    with ThreadPoolExecutor(3) as pool:
        added = list(pool.map(lambda n: until_first(lambda: add_missing(n)), range(3)))
    assert sorted(added) == [0, 0, 20]
    assert stream.offsets("bronze") == list(range(20))


def test_a_replay_reads_no_day_but_its_own(spark: SparkSession, stream: FakeStream) -> None:
    stream.batch(10, at=datetime.now(UTC) - timedelta(days=5))
    stream.batch(10)
    for layer in ("silver", "quarantine"):
        stream.delete(layer, "offset BETWEEN 14 AND 15")
        for file in Path(getattr(stream.tables, layer)).glob("day=*/*.parquet"):
            if file.parent.name != f"day={datetime.now(UTC).date()}":
                file.unlink()
    since = datetime.now(UTC) - timedelta(hours=1)
    assert replay(spark, replay_task(stream, since)).added["silver"] == 2
    with pytest.raises(Exception, match=r"does not exist|FAILED_READ_FILE"):
        replay(spark, replay_task(stream, since - timedelta(days=6)))


def test_silver_and_quarantine_are_filled_from_bronze_once(
    spark: SparkSession, stream: FakeStream
) -> None:
    stream.batch(40)
    stream.batch(10, commit=False)
    for layer in ("silver", "quarantine"):
        stream.delete(layer, "offset BETWEEN 8 AND 12 OR offset >= 45")
    task = replay_task(stream, datetime.now(UTC) - timedelta(1))
    first = replay(spark, task)
    assert first.added == {"silver": 4, "quarantine": 1}
    assert [part.missing_refined for part in first.parts] == [(Range(first=8, last=12),)]
    versions = [stream.version(layer) for layer in ("bronze", "silver", "quarantine")]
    assert replay(spark, task).added == {}
    assert [stream.version(layer) for layer in ("bronze", "silver", "quarantine")] == versions


def replay_task(stream: FakeStream, since: datetime) -> ReplaySpec:
    """From bronze, which needs no broker."""
    return ReplaySpec(
        pipeline="temperature",
        engine=ENGINE,
        tables=stream.tables,
        folder=stream.home,
        inputs=(stream.site_input,),
        asked=ReplayRequest(since=since),
        origin="bronze",
        refine=LENIENT,
    )
