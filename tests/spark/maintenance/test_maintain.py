"""What maintenance does to a table, as those who read and write it see it."""

from __future__ import annotations

import os
import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from millrace.maintenance.core.maintenance_plan import (
    Bin,
    CheckpointAction,
    Compact,
    Expire,
    Vacuum,
)
from spark_jobs.engine.append import WrittenBatch, append_once
from spark_jobs.maintenance.maintain import Table
from tests.support import wait_until

DAY = date(2026, 1, 1)
COLUMNS = "site string, topic string, topic_id string, partition int, offset bigint, day date"


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Table:
    path = str(tmp_path / "t")
    spark.sql(
        f"CREATE TABLE delta.`{path}` ({COLUMNS}) USING delta PARTITIONED BY (day) TBLPROPERTIES"
        " ('delta.enableChangeDataFeed' = 'true', 'delta.checkpointInterval' = '5')"
    )
    return Table(spark, path)


def append(table: Table, batch: int, day: date = DAY) -> None:
    rows = table.spark.createDataFrame([("a", "t", "id", 0, batch, day)], COLUMNS)
    assert append_once(rows.coalesce(1), table.path, WrittenBatch("writer", batch))


def compact_all(table: Table) -> Compact:
    paths = tuple(
        str(file.relative_to(table.path)) for file in Path(table.path).glob(f"day={DAY}/*.parquet")
    )
    return Compact(day=DAY, why="a test", bins=(Bin(paths=paths, size_bytes=1),))


def offsets(table: Table) -> list[int]:
    return [row.offset for row in table.spark.read.format("delta").load(table.path).collect()]


def test_a_writer_that_began_before_goes_on_after(table: Table) -> None:
    for batch in range(3):
        append(table, batch)
    gain = table.apply(compact_all(table))
    assert (gain.files_before, gain.files_after, gain.left) == (3, 1, "")
    append(table, 3)
    assert sorted(offsets(table)) == [0, 1, 2, 3]


def test_files_that_others_removed_meanwhile_are_left_to_the_next_run(table: Table) -> None:
    for batch in range(3):
        append(table, batch)
    planned = compact_all(table)
    table.apply(planned)
    before = table.spark.read.format("delta").load(table.path).inputFiles()
    assert "next run" in table.apply(planned).left
    assert table.spark.read.format("delta").load(table.path).inputFiles() == before


def test_days_that_go_leave_neither_rows_nor_change_files(table: Table) -> None:
    append(table, 0)
    append(table, 1, DAY + timedelta(days=1))
    gain = table.apply(Expire(days=(DAY,), why="", files=1, size_bytes=1))
    assert (gain.files_before, gain.files_after) == (1, 0)
    assert gain.bytes_before > 0
    assert offsets(table) == [1]
    assert not (Path(table.path) / "_change_data").exists()


def test_a_day_that_got_rows_since_the_plan_stays(table: Table) -> None:
    append(table, 0)
    planned = Expire(days=(DAY,), why="", files=1, size_bytes=1)
    append(table, 1)
    assert "next run" in table.apply(planned).left
    assert sorted(offsets(table)) == [0, 1]


@pytest.mark.parametrize(
    ("before_days", "goes"),
    [(8, True), (365, False)],
    ids=["the clocks agree", "the table's own time is a year behind this machine's"],
)
def test_a_vacuum_takes_what_is_older_than_the_plan_says(
    table: Table, before_days: int, goes: bool
) -> None:
    append(table, 0)
    stray = Path(table.path) / f"day={DAY}" / "stray.parquet"
    stray.write_bytes(b"of a batch that is under way")
    now = datetime.now(UTC)
    written = (now - timedelta(days=9)).timestamp()
    os.utime(stray, (written, written))
    table.apply(Vacuum(why="a test", before=now - timedelta(days=before_days), files=1))
    assert stray.exists() != goes
    assert offsets(table) == [0]


def test_a_vacuum_of_a_small_table_is_little_work(table: Table) -> None:
    """Of so many tasks that find nothing, an hour's maintenance would hardly do anything else."""
    append(table, 0)
    context = table.spark.sparkContext
    context.setJobGroup("vacuum", "")
    try:
        week_ago = datetime.now(UTC) - timedelta(days=8)
        table.apply(Vacuum(why="a test", before=week_ago, files=1))
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
    status = context.statusTracker()
    jobs = [status.getJobInfo(number) for number in status.getJobIdsForGroup("vacuum")]
    stages = {stage for job in jobs if job for stage in job.stageIds}
    tasks = [info.numTasks for stage in stages if (info := status.getStageInfo(stage))]
    assert 0 < sum(tasks) < 1_000


def test_a_stream_of_the_table_does_not_see_compaction(table: Table, tmp_path: Path) -> None:
    """A stream on the table itself has to say that it skips days that go."""

    def new_rows(**options: str) -> int:
        query = (
            table.spark.readStream.format("delta")
            .options(**options)
            .load(table.path)
            .writeStream.format("noop")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return sum(progress.numInputRows for progress in query.recentProgress)

    for batch in range(3):
        append(table, batch)
    assert new_rows() == 3
    table.apply(compact_all(table))
    append(table, 3)
    assert new_rows() == 1
    table.apply(Expire(days=(DAY,), why="", files=2, size_bytes=1))
    with pytest.raises(PySparkException, match="DELTA_SOURCE_IGNORE_DELETE"):
        new_rows()
    assert new_rows(skipChangeCommits="true") == 0


def test_the_log_is_cleaned_as_the_stream_goes_on(table: Table) -> None:
    log = Path(table.path) / "_delta_log"
    for batch in range(11):
        append(table, batch)
    # Checkpoints come beside the next batches.
    wait_until((log / f"{10:020}.checkpoint.parquet").exists)
    long_ago = (datetime.now(UTC) - timedelta(days=40)).timestamp()
    for file in log.glob("0*"):
        # A second for each version: equal times count as a clock that stood still.
        written = long_ago + int(file.name[:20])
        os.utime(file, (written, written))
    for batch in range(11, 15):
        append(table, batch)

    def versions() -> list[int]:
        return sorted(int(file.stem) for file in log.glob("*.json"))

    # Two checkpoints are old, and the younger one is needed.
    wait_until(lambda: versions() == [10, 11, 12, 13, 14, 15], what="cleaned up")
    assert sorted(offsets(table)) == list(range(15))


def test_a_sum_of_the_log_is_made_at_once(table: Table) -> None:
    append(table, 0)
    started = time.time()
    table.apply(CheckpointAction(why="a test", commits=1))
    last = Path(table.path) / "_delta_log" / "_last_checkpoint"
    assert last.stat().st_mtime >= started - 1


def test_a_log_is_listed_in_order_from_a_version_on(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("04.json", "02.json", ".03.json.draft", "03.crc", "03.json", "_last_checkpoint"):
        (tmp_path / name).touch()
    jvm = spark._jvm  # noqa: SLF001 - PySpark's only door to Java
    settings = jvm.org.apache.hadoop.conf.Configuration()
    store = jvm.millrace.logstore.LocalLogStore(settings)

    def names(folder: Path) -> list[str]:
        files = store.listFrom(jvm.org.apache.hadoop.fs.Path(f"{folder}/03"), settings)
        found = []
        while files.hasNext():
            found.append(files.next().getPath().getName())
        return found

    assert names(tmp_path) == ["03.crc", "03.json", "04.json", "_last_checkpoint"]
    with pytest.raises(Py4JJavaError, match="FileNotFoundException"):
        names(tmp_path / "missing")


def test_a_row_keeps_its_id_through_compaction(table: Table) -> None:
    """Where a table tracks its rows, whoever follows it knows a row by this id."""
    table.spark.sql(
        f"ALTER TABLE delta.`{table.path}` SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')"
    )
    for batch in range(3):
        append(table, batch)

    def ids() -> dict[int, int]:
        rows = table.spark.read.format("delta").load(table.path)
        return {
            row.offset: row.id
            for row in rows.select("offset", "_metadata.row_id").toDF("offset", "id").collect()
        }

    before = ids()
    assert table.apply(compact_all(table)).files_after == 1
    assert ids() == before
