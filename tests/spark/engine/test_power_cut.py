"""What would be on the disk after a power cut: Java's flight recorder tells what is synced when."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from spark_jobs.engine.java import jvm
from tests.power_cut import SYNC, WRITE, Step, Steps, named_by
from tests.spark.fake_stream import FakeStream


@contextmanager
def recorded(spark: SparkSession, folder: Path) -> Iterator[Steps]:
    """Every write and sync of this JVM; there when the block has ended."""
    java, steps = jvm(spark), Steps()
    recording = java.jdk.jfr.Recording()
    for kind in (WRITE, SYNC):
        recording.enable(kind).withoutThreshold().withoutStackTrace()
    recording.start()
    try:
        yield steps
        recording.stop()
        file = java.java.io.File(str(folder / "steps.jfr")).toPath()
        recording.dump(file)
    finally:
        recording.close()
    for event in java.jdk.jfr.consumer.RecordingFile.readAllEvents(file):
        path = Path(event.getString("path") or "")
        if folder in path.parents:
            begun = event.getLong("startTime")
            kind = event.getEventType().getName()
            steps.append(Step(begun, begun + event.getLong("duration"), kind, path))
    steps.sort()


def test_a_batch_is_on_the_disk_before_the_versions_that_name_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    stream = FakeStream(spark, tmp_path)
    with recorded(spark, tmp_path) as steps:
        stream.batch(20, datetime(2026, 11, 18, 12, tzinfo=UTC))
    versions = [d.parent.parent.name for d in steps.drafts(tmp_path) if list(named_by(d))]
    assert sorted(versions) == ["bronze", "quarantine", "silver"]
    assert steps.unsafe(tmp_path) == []


def test_so_are_the_files_of_deletion_vectors(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "t"
    spark.sql(
        f"CREATE TABLE delta.`{table}` (n BIGINT) USING delta"
        " TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    )
    with recorded(spark, tmp_path) as steps:
        spark.range(1000).toDF("n").coalesce(1).write.format("delta").mode("append").save(
            str(table)
        )
        DeltaTable.forPath(spark, str(table)).delete("n % 7 = 3")
    assert len(list(table.glob("deletion_vector_*.bin"))) == 1
    assert steps.unsafe(tmp_path) == []


def test_what_a_query_keeps_is_on_the_disk_when_it_has_its_name(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "lines").write_text("1\n2\n")
    with recorded(spark, tmp_path) as steps:
        lines = spark.readStream.text(str(tmp_path / "source"))
        query = lines.writeStream.foreachBatch(lambda rows, _: rows.collect())
        kept = query.option("checkpointLocation", str(tmp_path / "kept"))
        kept.trigger(availableNow=True).start().awaitTermination(60)
    drafts = {d.relative_to(tmp_path).parts[1] for d in steps.drafts(tmp_path / "kept")}
    assert {"offsets", "commits"} <= drafts
    assert steps.unsafe(tmp_path / "kept") == []
