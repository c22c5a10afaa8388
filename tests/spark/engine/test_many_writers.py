"""A table of hundreds of sites: what each of their commits costs beside the files themselves."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from spark_jobs.engine.append import Output, WrittenBatch, append_once, holds, write
from spark_jobs.engine.java import jvm

COLUMNS = ("n", "day")


def make(spark: SparkSession, table: str, writers: int) -> None:
    """Empty, and each of these writers brought its batch 7 to it."""
    spark.sql(f"CREATE TABLE delta.`{table}` (n int, day date) USING delta PARTITIONED BY (day)")
    seen = [{"txn": {"appId": f"site-{n}", "version": 7}} for n in range(writers)]
    version = Path(table, "_delta_log", f"{1:020}.json")
    version.write_text("\n".join(json.dumps(one) for one in seen))
    jvm(spark).org.apache.spark.sql.delta.DeltaLog.clearCache()


def jobs_of(spark: SparkSession, work: Callable[[], object]) -> int:
    """In whichever thread; nothing else may be under way."""
    context = spark.sparkContext._jsc.sc()  # noqa: SLF001 - PySpark has no public door to it
    before = context.dagScheduler().numTotalJobs()
    work()
    return int(context.dagScheduler().numTotalJobs() - before)


@pytest.mark.parametrize("writers", [99, 101, 300])
def test_a_commit_runs_no_job_however_many_write_the_table(
    spark: SparkSession, tmp_path: Path, writers: int
) -> None:
    table = str(tmp_path / "t")
    make(spark, table, writers)
    rows = spark.sql("SELECT 1 n, DATE'2026-11-18' day")
    append_once(rows, table, WrittenBatch("site-0", 8))
    for number in (9, 10):
        written = write(rows, [Output(table, COLUMNS, COLUMNS)])
        batch = WrittenBatch("site-0", number)

        def commit() -> None:
            assert not holds(spark, table, batch)  # noqa: B023 - called at once
            written.commit(table, batch)  # noqa: B023

        assert jobs_of(spark, commit) == 0
    assert holds(spark, table, WrittenBatch("site-98", 7))
    assert not holds(spark, table, WrittenBatch("site-98", 8))


def test_a_table_that_forgets_its_writers_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = str(tmp_path / "t")
    make(spark, table, 1)
    forget = "'delta.setTransactionRetentionDuration' = 'interval 7 days'"
    spark.sql(f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ({forget})")
    with pytest.raises(PySparkException, match="setTransactionRetentionDuration"):
        append_once(spark.sql("SELECT 1 n, DATE'2026-11-18' day"), table, WrittenBatch("one", 0))
