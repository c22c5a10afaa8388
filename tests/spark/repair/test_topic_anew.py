"""Two topics of one name, one after the other, in the same tables; and a batch between them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from millrace.base.ranges import Range
from millrace.ingest.core.ends import below
from millrace.ingest.io.checkpoint import Checkpoint
from millrace.kafka.core.coordinates import Part
from millrace.lake.core.silver import COORDINATES
from millrace.repair.core.backfill_spec import BackfillResult, BackfillSpec
from millrace.repair.core.replay_spec import ReplayResult, ReplaySpec
from spark_jobs.ingest.sink import BatchSink
from spark_jobs.repair.agreement import AGREEMENT, compare
from spark_jobs.repair.backfill import backfill
from spark_jobs.repair.replay import replay
from tests.spark.fake_stream import ENGINE, FIRST_ID, LENIENT, FakeStream
from tests.spark.ingest import test_batch
from tests.spark.ingest.test_batch import CrashError, contents, crash_at
from tests.spark.ingest.test_duplicates import numbered

batch, records = test_batch.batch, test_batch.records
SECOND_ID = "second-life"


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> FakeStream:
    """Twenty of the first topic, then fifteen of the second, of which five are sent again."""
    stream = FakeStream(spark, tmp_path)
    stream.batch(20, headers=numbered(*range(20)))
    stream.make_anew(SECOND_ID)
    stream.batch(15, headers=numbered(*range(15, 30)))
    return stream


def rows(stream: FakeStream, layer: str) -> DataFrame:
    return stream.spark.read.format("delta").load(getattr(stream.tables, layer))


def counts(stream: FakeStream, layer: str) -> dict[str, int]:
    return {
        row.topic_id: row["count"]
        for row in rows(stream, layer).groupBy("topic_id").count().collect()
    }


def test_topics_of_one_name_are_kept_apart_by_all_that_looks_at_rows(stream: FakeStream) -> None:
    assert counts(stream, "bronze") == {FIRST_ID: 20, SECOND_ID: 15}
    refused = rows(stream, "quarantine").where("stage = 'twin'").collect()
    assert {(row.topic_id, row.offset) for row in refused} == {(SECOND_ID, n) for n in range(5)}

    settled = below({"plant-a": Checkpoint(stream.checkpoint).ends()})
    tables = {layer: rows(stream, layer).where(settled) for layer, _ in stream.tables}
    found = compare(tables).found
    assert found["bronze"] == {
        Part("plant-a", "t", 0, FIRST_ID): (Range(first=0, last=19),),
        Part("plant-a", "t", 0, SECOND_ID): (Range(first=0, last=14),),
    }
    assert not any(found[name] for name in (*AGREEMENT, *(f"doubled_{one}" for one in tables)))

    # Of both topics: a row of the one is no row of the other, whatever its offset.
    stream.delete("silver", f"topic_id = '{FIRST_ID}' AND offset BETWEEN 2 AND 3")
    common = {"pipeline": "p", "engine": ENGINE, "tables": stream.tables, "refine": LENIENT}
    task = ReplaySpec(**common, folder=stream.home, origin="bronze", inputs=(stream.site_input,))
    result: ReplayResult = replay(stream.spark, task)
    assert result.added == {"silver": 2, "quarantine": 0}
    assert {part.part.topic_id for part in result.parts} == {FIRST_ID, SECOND_ID}

    days = [row.day for row in rows(stream, "bronze").select("day").distinct().collect()]
    made: BackfillResult = backfill(
        stream.spark,
        BackfillSpec(
            **common,
            folder=stream.home,
            first=min(days),
            last=max(days),
            checkpoints={"plant-a": stream.checkpoint},
        ),
    )
    assert made.before == made.after
    again = rows(stream, "quarantine").where("stage = 'twin'").collect()
    assert {(row.topic_id, row.offset) for row in again} == {(SECOND_ID, n) for n in range(5)}
    for layer, _ in stream.tables:
        assert rows(stream, layer).groupBy(*COORDINATES).count().where("count > 1").isEmpty()


def test_a_batch_that_bronze_has_comes_into_all_tables_before_the_move(
    batch: BatchSink, records: DataFrame, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        crash_at(patch, batch.tables.silver)
        with pytest.raises(CrashError):
            batch(records, 0)
    assert batch.settle(spark, 0)
    assert contents(spark, batch.tables) == test_batch.WHOLE


def test_a_batch_that_bronze_has_not_can_be_written_by_nobody_after_the_move(
    batch: BatchSink, records: DataFrame, spark: SparkSession
) -> None:
    assert [batch.settle(spark, 0), batch.settle(spark, 0)] == [False, False]
    # As a writer that was slow to die would, whose commit had been on its way.
    batch(records, 0)
    assert contents(spark, batch.tables) == {"bronze": [], "silver": [], "quarantine": []}
