"""A message that its producer sent again is in bronze twice and in silver once."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from millrace.kafka.core.header_names import EPOCH, PRODUCER, SEQUENCE
from millrace.repair.core.backfill_spec import BackfillSpec
from spark_jobs.engine.append import Written, WrittenBatch
from spark_jobs.repair.backfill import backfill
from spark_jobs.repair.producers import look_at_producers
from tests.spark.fake_stream import ENGINE, LENIENT, FakeStream, Headers


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> FakeStream:
    """Offset 0 is refused for what it holds; all that is tested comes behind it."""
    stream = FakeStream(spark, tmp_path)
    stream.batch(1)
    return stream


def numbered(*numbers: int, epoch: int = 7, producer: str = "plant-a/lines/t") -> list[Headers]:
    return [
        [
            ("traceparent", b"of the device"),
            (PRODUCER, producer.encode()),
            (EPOCH, b"%d" % epoch),
            (SEQUENCE, b"%d" % number),
        ]
        for number in numbers
    ]


def twins(stream: FakeStream) -> list[int]:
    rows = stream.spark.read.format("delta").load(stream.tables.quarantine)
    return sorted(row.offset for row in rows.where("stage = 'twin'").collect())


def both(stream: FakeStream) -> list[int]:
    return sorted(stream.offsets("silver") + stream.offsets("quarantine"))


@pytest.mark.parametrize(
    ("batches", "expected"),
    [
        ([[0, 1, 2, 3]], []),
        ([[0, 1, 1, 2]], [3]),
        ([[0, 1, 2], [1, 2, 3]], [4, 5]),
        ([[0, 1], [2], [0]], [4]),
        ([[5], [2], [5]], [3]),
    ],
    ids=["none", "same batch", "next batch", "later batch", "late is no twin"],
)
def test_what_came_before_is_refused_by_name(
    stream: FakeStream, batches: list[list[int]], expected: list[int]
) -> None:
    for numbers in batches:
        stream.batch(len(numbers), headers=numbered(*numbers))
    assert twins(stream) == expected
    assert both(stream) == stream.offsets("bronze") == list(range(stream.end))
    quarantine = stream.spark.read.format("delta").load(stream.tables.quarantine)
    reasons = [row.reasons for row in quarantine.where("stage = 'twin'").collect()]
    assert reasons == [["twin: its producer's number came before"]] * len(expected)


def test_delta_s_own_writer_refuses_the_same(spark: SparkSession, tmp_path: Path) -> None:
    stream = FakeStream(spark, tmp_path, by_delta=True)
    for numbers in ([0, 1, 1], [1, 2], [0, 3]):
        stream.batch(len(numbers), headers=numbered(*numbers))
    assert twins(stream) == [2, 3, 5]
    assert both(stream) == stream.offsets("bronze") == list(range(stream.end))


def test_another_epoch_another_producer_and_none_are_no_twins(stream: FakeStream) -> None:
    strange = [*numbered(1), *numbered(1, epoch=8), *numbered(1, producer="plant-a/web/t")]
    broken = [[(PRODUCER, b"p"), (EPOCH, b"x"), (SEQUENCE, b"1")]] * 2
    stream.batch(8, headers=[*strange, *broken, None, None, numbered(2)[0]])
    assert twins(stream) == []


@pytest.mark.parametrize("layer", ["silver", "quarantine"])
def test_a_crash_between_the_tables_changes_no_verdict(
    stream: FakeStream, monkeypatch: pytest.MonkeyPatch, layer: str
) -> None:
    stream.batch(2, headers=numbered(0, 1))
    commit = Written.commit

    def crash(written: Written, to: str, batch: WrittenBatch) -> None:
        if to == getattr(stream.tables, layer):
            raise ConnectionError
        commit(written, to, batch)

    with monkeypatch.context() as patch:
        patch.setattr(Written, "commit", crash)
        with pytest.raises(ConnectionError):
            stream.batch(4, headers=numbered(1, 2, 2, 3))
    held = stream.spark.createDataFrame([], "value binary")
    stream.sink()(held, stream.batches)
    stream.batches += 1
    stream.batch(2, headers=numbered(3, 4))
    assert twins(stream) == [3, 5, 7]
    assert both(stream) == list(range(stream.end))


@pytest.mark.parametrize(
    ("batches_before", "layer", "memory"),
    [(0, "silver", "kept"), (0, "quarantine", "lost"), (1, "silver", "lost")],
)
def test_a_batch_that_was_interrupted_is_no_twin_of_itself(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    batches_before: int,
    layer: str,
    memory: str,
) -> None:
    """Also the first of a checkpoint, and where the files of the memory are gone."""
    stream = FakeStream(spark, tmp_path)
    for number in range(batches_before):
        stream.batch(1, headers=numbered(number))
    table, begin = getattr(stream.tables, layer), stream.end
    commit = Written.commit

    def crash(written: Written, to: str, batch: WrittenBatch) -> None:
        if to == table:
            raise ConnectionError
        commit(written, to, batch)

    with monkeypatch.context() as patch:
        patch.setattr(Written, "commit", crash)
        # Offset 0 is refused for what it holds; a last message that came twice makes it two.
        numbers = [*range(begin, begin + 3), begin]
        with pytest.raises(ConnectionError):
            stream.batch(4, headers=numbered(*numbers))
    if memory == "lost":
        shutil.rmtree(Path(stream.checkpoint) / "twins", ignore_errors=True)
    stream.sink()(spark.createDataFrame([], "value binary"), stream.batches)
    assert twins(stream) == [begin + 3]
    assert both(stream) == stream.offsets("bronze") == list(range(stream.end))


def test_a_checkpoint_without_a_memory_begins_with_what_bronze_has(stream: FakeStream) -> None:
    stream.batch(2, headers=numbered(0, 1))
    shutil.rmtree(Path(stream.checkpoint) / "twins")
    stream.batch(2, headers=numbered(1, 2))
    assert twins(stream) == [3]


def test_a_backfill_refuses_the_same_ones(spark: SparkSession, stream: FakeStream) -> None:
    """Also of those whose first was there the day before."""
    today = datetime.now(UTC)
    stream.batch(2, today - timedelta(days=1), headers=numbered(0, 1))
    stream.batch(3, today, headers=numbered(1, 2, 2))
    before = twins(stream)
    assert before == [3, 5]
    stream.delete("silver", "true")
    stream.delete("quarantine", "true")
    task = BackfillSpec(
        pipeline="temperature",
        engine=ENGINE,
        tables=stream.tables,
        folder=stream.home,
        first=today.date(),
        last=today.date() + timedelta(1),
        checkpoints={"plant-a": stream.checkpoint},
        refine=LENIENT,
    )
    backfill(spark, task)
    assert twins(stream) == before


def test_verify_says_how_many_of_a_producer_came_again(
    spark: SparkSession, stream: FakeStream
) -> None:
    stream.batch(5, headers=numbered(0, 1, 1, 1, 2))
    bronze = spark.read.format("delta").load(stream.tables.bronze)
    states, alarms = look_at_producers(bronze.withColumn("value", f.lit(b"same")), [], 0.0)
    assert [(one.producer, one.last, one.twins) for one in states] == [("plant-a/lines/t", 2, 2)]
    assert alarms == ()


def test_verify_tells_of_a_number_that_stands_for_two_messages(
    spark: SparkSession, stream: FakeStream
) -> None:
    """As of a gateway whose machine was put back, memory and all."""
    stream.batch(7, headers=[*numbered(60, 70, 71, 71, 70), *numbered(1, 1, epoch=8)])
    bronze = spark.read.format("delta").load(stream.tables.bronze)
    same = f.when(f.col("offset") >= 6, f.lit(b"same")).otherwise(f.col("value"))
    _, alarms = look_at_producers(bronze.withColumn("value", same), [], 0.0)
    (alarm,) = alarms
    assert alarm.name == "forked:plant-a/plant-a/lines/t/7"
    assert alarm.text.startswith("2 numbers in [70..71] stand for two messages each")
