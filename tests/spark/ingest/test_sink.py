"""The sink on a real Delta table, without a broker."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from delta.exceptions.captured import ConcurrentTransactionException
from pyspark.sql import DataFrame, SparkSession

from millrace.lake.core import bronze
from spark_jobs.engine.append import WrittenBatch, append_once
from spark_jobs.engine.fence import Fence, FencedError
from spark_jobs.kafka.bronze_rows import bronze_rows
from tests.support import wait_until

RECORDS = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp,"
    " timestampType int, headers array<struct<key:string,value:binary>>"
)
IDS = {"readings": "id-1", "r": "id-2"}
NOON = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0) - timedelta(days=9)


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    headers = [("made-by", b"robot")]
    records = [
        (b"k", b"v", "readings", 1, 7, NOON, 0, headers),
        (None,) * 2 + ("r", 0, 8, NOON, 0, None),
    ]
    return bronze_rows(spark.createDataFrame(records, RECORDS), "plant-a", IDS)


def make_empty(table: Path, spark: SparkSession) -> None:
    columns = ", ".join(f"`{name}` {kind}" for name, kind in bronze.COLUMNS)
    by = ", ".join(bronze.PARTITION_BY)
    spark.sql(f"CREATE TABLE delta.`{table}` ({columns}) USING delta PARTITIONED BY ({by})")


def test_rows_have_the_bronze_columns_and_keep_what_came(rows: DataFrame) -> None:
    assert [(f.name, f.dataType.simpleString()) for f in rows.schema] == list(bronze.COLUMNS)
    first, second = rows.collect()
    assert (first.topic_id, second.topic_id) == ("id-1", "id-2")
    assert (first.site, first.topic, first.partition, first.offset) == ("plant-a", "readings", 1, 7)
    assert (bytes(first.key), bytes(first.value)) == (b"k", b"v")
    assert [(h.key, bytes(h.value)) for h in first.headers] == [("made-by", b"robot")]
    assert (second.key, second.value, second.headers) == (None, None, None)


def test_the_day_is_the_brokers(rows: DataFrame) -> None:
    row = rows.first()
    assert row.day == NOON.date()
    assert row.ingested_at.astimezone(UTC) > NOON + timedelta(days=8)


def test_a_checkpoint_comes_beside_the_next_batches(
    rows: DataFrame, spark: SparkSession, tmp_path: Path
) -> None:
    table = tmp_path / "t"
    make_empty(table, spark)
    spark.sql(f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ('delta.checkpointInterval' = '3')")
    for number in range(4):
        append_once(rows, str(table), WrittenBatch("writer", number))
    summed_up = table / "_delta_log" / "00000000000000000003.checkpoint.parquet"
    wait_until(summed_up.exists, 30)
    wait_until((table / "_delta_log" / "_last_checkpoint").exists, 30)
    assert spark.read.format("delta").load(str(table)).count() == 8


def test_the_same_batch_of_the_same_writer_is_written_once(
    rows: DataFrame, spark: SparkSession, tmp_path: Path
) -> None:
    table = tmp_path / "t"
    make_empty(table, spark)
    batches = [("one", 0), ("one", 0), ("two", 0), ("one", 1), ("one", 0)]
    written = [append_once(rows, str(table), WrittenBatch(*batch)) is not None for batch in batches]
    assert written == [True, False, True, True, False]
    assert spark.read.format("delta").load(str(table)).count() == 3 * 2


def test_a_repeated_batch_is_known_without_the_checksum_file(
    rows: DataFrame, spark: SparkSession, tmp_path: Path
) -> None:
    make_empty(tmp_path / "t", spark)
    assert append_once(rows, str(tmp_path / "t"), WrittenBatch("one", 0)) == 2
    for checksum in (tmp_path / "t" / "_delta_log").glob("*.crc"):
        checksum.unlink()
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # noqa: SLF001 - the only door
    assert append_once(rows, str(tmp_path / "t"), WrittenBatch("one", 0)) is None


def test_two_drivers_at_one_batch_write_it_once(
    rows: DataFrame, spark: SparkSession, tmp_path: Path
) -> None:
    make_empty(tmp_path / "t", spark)

    def append(batch: int) -> bool:
        try:
            return append_once(rows, str(tmp_path / "t"), WrittenBatch("one", batch)) is not None
        except ConcurrentTransactionException:
            return False

    with ThreadPoolExecutor(2) as pool:
        for batch in range(5):
            assert sorted(pool.map(append, [batch, batch])) == [False, True]
    assert spark.read.format("delta").load(str(tmp_path / "t")).count() == 5 * 2


def test_the_fence_falls_when_a_newer_generation_claims(tmp_path: Path) -> None:
    fence = Fence(tmp_path, generation=4)
    (tmp_path / "4").touch()
    fence.check()
    (tmp_path / "5").touch()
    with pytest.raises(FencedError, match="generation 5"):
        fence.check()
