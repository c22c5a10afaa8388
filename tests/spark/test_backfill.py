"""Days made anew from bronze beside a live stream."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from millrace.core.backfill import BackfillSpec
from millrace.core.refine import RefineSpec
from spark_jobs import backfill as job
from spark_jobs.backfill import LostBronzeError, backfill
from tests.spark.fake_stream import ENGINE, STRICT, FakeStream


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> FakeStream:
    return FakeStream(spark, tmp_path)


def task(stream: FakeStream, refine: RefineSpec, days: int = 1) -> BackfillSpec:
    today = datetime.now(UTC).date()
    return BackfillSpec(
        pipeline="temperature",
        engine=ENGINE,
        tables=stream.tables,
        folder=stream.home,
        first=today - timedelta(days - 1),
        # A test may run over midnight.
        last=today + timedelta(1),
        checkpoints={"plant-a": stream.checkpoint},
        refine=refine,
    )


def test_today_is_made_anew_while_the_stream_goes_on(
    spark: SparkSession, stream: FakeStream
) -> None:
    stream.batch(40)
    with stream:
        backfill(spark, task(stream, STRICT))
    assert stream.batches > 2, "the stream stood still"
    assert stream.offsets("bronze") == list(range(stream.end))
    assert sorted(stream.offsets("silver") + stream.offsets("quarantine")) == list(
        range(stream.end)
    )
    # What was there when it began is judged by its rule.
    assert {5, 15, 25, 35} <= set(stream.offsets("quarantine"))


def test_a_batch_the_stream_has_not_finished_is_left_to_it(
    spark: SparkSession, stream: FakeStream
) -> None:
    stream.batch(10)
    stream.batch(10, commit=False)
    backfill(spark, task(stream, STRICT))
    assert stream.offsets("quarantine") == [0, 5, 10]


def test_a_crash_between_the_two_tables_is_put_right_by_a_second_run(
    spark: SparkSession, stream: FakeStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream.batch(20)

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(job, "quarantine_rows", crash)
    with pytest.raises(KeyboardInterrupt):
        backfill(spark, task(stream, STRICT))
    monkeypatch.undo()
    assert len(stream.offsets("silver")) + len(stream.offsets("quarantine")) < 20
    result = backfill(spark, task(stream, STRICT))
    assert stream.offsets("quarantine") == [0, 5, 10, 15]
    assert [(day.silver, day.quarantine) for day in result.after] == [(16, 4)]


def test_a_dry_run_foresees_the_result_and_writes_nothing(
    spark: SparkSession, stream: FakeStream
) -> None:
    stream.batch(20)
    stream.delete("quarantine", "offset = 10")
    before = [stream.version(layer) for layer in ("silver", "quarantine")]
    dry = task(stream, STRICT).model_copy(update={"dry_run": True})
    result = backfill(spark, dry)
    assert [(d.bronze, d.silver, d.quarantine) for d in result.before] == [(20, 18, 1)]
    assert [(d.bronze, d.silver, d.quarantine) for d in result.after] == [(20, 16, 4)]
    assert [stream.version(layer) for layer in ("silver", "quarantine")] == before


def test_rows_that_bronze_has_lost_are_not_deleted(spark: SparkSession, stream: FakeStream) -> None:
    stream.batch(10)
    stream.delete("bronze", "offset BETWEEN 3 AND 4")
    with pytest.raises(LostBronzeError, match=r"plant-a/t-0 \[3..4\]"):
        backfill(spark, task(stream, STRICT))
    assert stream.offsets("silver") == list(range(1, 10))
