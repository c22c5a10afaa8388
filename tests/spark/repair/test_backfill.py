"""Days made anew from bronze beside a live stream."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from millrace.lake.core.refine import RefineSpec
from millrace.repair.core.backfill_spec import BackfillSpec
from spark_jobs.repair import backfill as job
from spark_jobs.repair.backfill import LostBronzeError, backfill
from spark_jobs.repair.repair_commits import replace
from tests.spark.fake_stream import ENGINE, LENIENT, STRICT, FakeStream


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
    with pytest.raises(LostBronzeError, match=r"plant-a/t-0 .* \[3..4\]"):
        backfill(spark, task(stream, STRICT))
    assert stream.offsets("silver") == list(range(1, 10))


def feed(stream: FakeStream, layer: str, since: int) -> list[tuple[str, int]]:
    """What whoever follows a table is given of its versions after this one."""
    if stream.version(layer) == since:
        return []
    changes = (
        stream.spark.read.format("delta")
        .option("readChangeFeed", "true")
        .option("startingVersion", since + 1)
        .load(getattr(stream.tables, layer))
    )
    return sorted((row["_change_type"], row.offset) for row in changes.collect())


def test_the_feed_of_changes_gets_the_rows_that_changed_and_no_others(
    spark: SparkSession, stream: FakeStream
) -> None:
    for _ in range(2):
        stream.batch(20)
    lenient = task(stream, LENIENT)
    before = {layer: stream.version(layer) for layer in ("silver", "quarantine")}
    backfill(spark, lenient)
    assert {layer: stream.version(layer) for layer in before} == before
    stream.delete("silver", "offset = 7")
    before["silver"] = stream.version("silver")
    backfill(spark, lenient)
    assert feed(stream, "silver", before["silver"]) == [("insert", 7)]
    assert feed(stream, "quarantine", before["quarantine"]) == []
    before["silver"] = stream.version("silver")
    backfill(spark, task(stream, STRICT))
    assert feed(stream, "quarantine", before["quarantine"]) == [
        ("insert", 5), ("insert", 15), ("insert", 25), ("insert", 35)
    ]  # fmt: skip
    changed = [one for one in feed(stream, "silver", before["silver"]) if one[0] == "delete"]
    assert changed == [("delete", 5), ("delete", 15), ("delete", 25), ("delete", 35)]
    assert len(feed(stream, "silver", before["silver"])) == 4
    assert sorted(stream.offsets("silver") + stream.offsets("quarantine")) == list(range(40))


def test_a_backfill_that_only_adds_rows_takes_no_file_away(
    spark: SparkSession, stream: FakeStream
) -> None:
    """So a plain stream from the table goes on."""
    stream.batch(20)
    stream.delete("silver", "offset = 7")
    before = stream.version("silver")
    backfill(spark, task(stream, LENIENT))
    follower = spark.readStream.format("delta").option("startingVersion", before + 1)
    found: list[int] = []
    query = (
        follower.load(stream.tables.silver)
        .writeStream.foreachBatch(lambda rows, _: found.extend(r.offset for r in rows.collect()))
        .option("checkpointLocation", str(stream.home / "follower"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(60)
    assert found == [7]


def test_a_file_without_a_changed_row_stays(spark: SparkSession, stream: FakeStream) -> None:
    for _ in range(2):
        stream.batch(10)
    stream.delete("silver", "offset = 17")
    files = set(spark.read.format("delta").load(stream.tables.silver).inputFiles())
    backfill(spark, task(stream, LENIENT))
    after = set(spark.read.format("delta").load(stream.tables.silver).inputFiles())
    assert files < after
    assert stream.offsets("silver") == [*range(1, 10), *range(11, 20)]


@pytest.fixture
def four_shares(spark: SparkSession) -> Iterator[None]:
    """As a task's session has many, and a stream's has one."""
    setting = "spark.sql.shuffle.partitions"
    usual = spark.conf.get(setting)
    spark.conf.set(setting, 4)
    yield
    spark.conf.set(setting, usual)


@pytest.mark.usefixtures("four_shares")
def test_a_day_is_written_by_several_tasks_and_each_partition_in_its_order_by_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    table, day = str(tmp_path / "t"), "DATE'2026-11-18'"
    rows = spark.range(400).selectExpr(
        "'plant-a' AS site", "'t' AS topic", "'id' AS topic_id", "cast(id % 8 AS int) AS partition",
        "id div 8 AS offset", "id AS n", f"{day} AS day",
    )  # fmt: skip
    rows.coalesce(1).write.format("delta").partitionBy("day").save(table)
    replace(rows.withColumn("n", f.col("n") + 1), table, f"day = {day}", "true", 0)
    after = spark.read.format("delta").load(table)
    assert after.agg(f.sum("n"), f.count("*")).first() == (sum(range(401)), 400)
    files: dict[int, set[str]] = defaultdict(set)
    for name in after.inputFiles():
        kept = [(row.partition, row.offset) for row in spark.read.parquet(name).collect()]
        assert kept == sorted(kept)
        for part, _ in kept:
            files[part].add(name)
    assert [len(files[part]) for part in range(8)] == [1] * 8
    assert len(after.inputFiles()) > 1
