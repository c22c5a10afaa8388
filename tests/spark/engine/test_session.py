"""What a Spark session is set to, by the kind of work that it does."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from millrace.settings.core.engine import EngineSpec, class_archive
from spark_jobs.engine.session import Work, session_settings
from tests.spark.conftest import JARS

ENGINE = EngineSpec(memory="1g", class_path=())


def shuffled_parts(spark: SparkSession, settings: dict[str, str]) -> int:
    """In how many partitions a shuffle of 16 KB pieces of 300,000 rows ends."""
    session = spark.newSession()
    for key, value in settings.items():
        if key.startswith("spark.sql.") and session.conf.isModifiable(key):
            session.conf.set(key, value)
    session.conf.set("spark.sql.adaptive.advisoryPartitionSizeInBytes", "16KB")
    session.conf.set("spark.sql.adaptive.coalescePartitions.minPartitionSize", "1KB")
    rows = session.range(300_000).withColumn("word", f.col("id") % 100_000).groupBy("word").count()
    return int(rows.select(f.spark_partition_id().alias("part")).distinct().count())


@pytest.mark.parametrize(("work", "is_spread"), [("stream", False), ("task", True)])
def test_a_task_spreads_its_shuffles_and_a_stream_does_not(
    spark: SparkSession, work: Work, is_spread: bool
) -> None:
    settings = session_settings("test", ENGINE, work)
    assert (shuffled_parts(spark, settings) > 1) is is_spread


def test_the_jvm_has_mapped_the_archive_of_classes(spark: SparkSession) -> None:
    archive = class_archive(EngineSpec(memory="1g", class_path=JARS))
    jvm = spark.sparkContext._gateway.proc.pid  # noqa: SLF001 - PySpark has no public door to it
    assert str(archive.resolve()) in Path(f"/proc/{jvm}/maps").read_text()


def test_a_job_starts_without_an_archive_of_classes(tmp_path: Path) -> None:
    settings = session_settings("t", EngineSpec(memory="1g", class_path=(tmp_path,)), "stream")
    assert not [value for value in settings.values() if "SharedArchiveFile" in value]
