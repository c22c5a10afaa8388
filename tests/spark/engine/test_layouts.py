"""Tables that are not as their job made them: what is written is right, or refused, never wrong."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree

import pytest
from delta.exceptions.captured import MetadataChangedException, ProtocolChangedException
from delta.tables import DeltaTable
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.engine.append import Output, Written, WrittenBatch, write
from spark_jobs.refine.refined_tables import ensure_refined_tables
from tests.spark.fake_stream import STRICT, FakeStream

COLUMNS = ("i", "s", "day")
DECLARED = "i int, s string, day date"
BY_DAY = "USING delta PARTITIONED BY (day)"
WIDE = "TBLPROPERTIES ('delta.enableTypeWidening' = 'true')"


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    return spark.range(-2, 3).selectExpr(
        "cast(id as int) i", "cast(id as string) s", "DATE'2026-11-18' day"
    )


@pytest.fixture
def make(spark: SparkSession, tmp_path: Path) -> Callable[..., str]:
    def make(declared: str = DECLARED, using: str = BY_DAY) -> str:
        table = str(tmp_path / "t")
        spark.sql(f"CREATE TABLE delta.`{table}` ({declared}) {using}")
        return table

    return make


def alter(spark: SparkSession, table: str, change: str) -> None:
    spark.sql(f"ALTER TABLE delta.`{table}` {change}")


def written(rows: DataFrame, table: str) -> Written:
    return write(rows, [Output(table, COLUMNS, COLUMNS)])


def found(spark: SparkSession, table: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in spark.read.format("delta").load(table).collect())


def test_a_column_that_was_widened_holds_the_numbers_that_came(
    spark: SparkSession, rows: DataFrame, make: Callable[..., str]
) -> None:
    table = make(using=f"{BY_DAY} {WIDE}")
    alter(spark, table, "ALTER COLUMN i TYPE bigint")
    written(rows, table).commit(table, WrittenBatch("one", 0))
    assert [row[0] for row in found(spark, table)] == [-2, -1, 0, 1, 2]


@pytest.mark.parametrize(
    ("declared", "using", "change", "why"),
    [
        ("i bigint, s string, day date", BY_DAY, None, "i is BIGINT"),
        (f"{DECLARED}, g int GENERATED ALWAYS AS (i * 2)", BY_DAY, None, "column g with"),
        (f"n bigint GENERATED ALWAYS AS IDENTITY, {DECLARED}", BY_DAY, None, "column n with"),
        ("i int NOT NULL, s string, day date", BY_DAY, None, "constraints"),
        (DECLARED, BY_DAY, "ADD CONSTRAINT small CHECK (i < 100)", "constraints"),
        (DECLARED, f"{BY_DAY} TBLPROPERTIES ('delta.columnMapping.mode' = 'name')", None,
         "columnMapping"),
        (DECLARED, f"{BY_DAY} TBLPROPERTIES ('delta.enableRowTracking' = 'true')", None,
         "rowTracking"),
        (DECLARED, "USING delta PARTITIONED BY (s)", None, "partitions"),
        (DECLARED, "USING delta CLUSTER BY (i)", None, "clustering"),
        ("i int, s varchar(10), day date", BY_DAY, None, "column s with"),
    ],
    ids=["wider", "generated", "identity", "not-null", "check", "mapped", "row-ids", "by-text",
         "clustered", "varchar"],
)  # fmt: skip
def test_what_asks_more_of_a_writer_goes_by_deltas_own(
    spark: SparkSession,
    rows: DataFrame,
    make: Callable[..., str],
    declared: str,
    using: str,
    change: str | None,
    why: str,
) -> None:
    table = make(declared, using)
    if change:
        alter(spark, table, change)
    batch = written(rows, table)
    assert why in batch.obstacle(table)
    assert batch.rows(table) == 5
    batch.commit(table, WrittenBatch("one", 0))
    read = spark.read.format("delta").load(table)
    assert read.select(*COLUMNS).exceptAll(rows.selectExpr(*COLUMNS)).isEmpty()
    assert read.count() == 5
    if "g int" in declared:
        assert read.where("g = i * 2").count() == 5
    if "IDENTITY" in declared:
        assert read.select("n").distinct().count() == 5


@pytest.mark.parametrize("setting", ["enableDeletionVectors", "enableTypeWidening"])
def test_features_that_ask_nothing_of_new_files_are_written_here(
    spark: SparkSession, rows: DataFrame, make: Callable[..., str], setting: str
) -> None:
    table = make(using=f"{BY_DAY} TBLPROPERTIES ('delta.{setting}' = 'true')")
    batch = written(rows, table)
    assert batch.obstacle(table) == ""
    batch.commit(table, WrittenBatch("one", 0))
    DeltaTable.forPath(spark, table).delete("i = 0")
    assert [row[0] for row in found(spark, table)] == [-2, -1, 1, 2]


def test_the_slower_way_is_told_of_once(
    rows: DataFrame, make: Callable[..., str], caplog: pytest.LogCaptureFixture
) -> None:
    table = make("i bigint, s string, day date")
    with caplog.at_level(logging.WARNING):
        for number in range(3):
            written(rows, table).commit(table, WrittenBatch("one", number))
    (message,) = (record.message for record in caplog.records if table in record.message)
    assert "i is BIGINT and its batches bring INT" in message


def test_a_value_that_could_be_lost_by_a_cast_is_refused(
    rows: DataFrame, make: Callable[..., str]
) -> None:
    table = make("i smallint, s string, day date")
    with pytest.raises(PySparkException, match=r"column i of .* is SMALLINT"):
        written(rows, table)


def test_a_column_that_the_table_lacks_is_refused(
    rows: DataFrame, make: Callable[..., str]
) -> None:
    table = make("i int, day date")
    with pytest.raises(PySparkException, match="has no column s"):
        written(rows, table)


@pytest.mark.parametrize(
    "change",
    [
        "ALTER COLUMN i TYPE bigint",
        "ADD COLUMNS (more string)",
        "ADD CONSTRAINT small CHECK (i < 0)",
        "SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
    ],
)
def test_a_table_that_changed_since_its_files_were_written_refuses_them(
    spark: SparkSession, rows: DataFrame, make: Callable[..., str], change: str
) -> None:
    table = make(using=f"{BY_DAY} {WIDE}")
    batch = written(rows, table)
    alter(spark, table, change)
    with pytest.raises((MetadataChangedException, ProtocolChangedException)):
        batch.commit(table, WrittenBatch("one", 0))
    assert found(spark, table) == []


def test_a_table_that_was_made_anew_refuses_files_of_the_one_before(
    rows: DataFrame, make: Callable[..., str]
) -> None:
    table = make()
    batch = written(rows, table)
    rmtree(table)
    assert make() == table
    with pytest.raises((MetadataChangedException, ProtocolChangedException)):
        batch.commit(table, WrittenBatch("one", 0))


def test_columns_that_are_added_later_have_bounds_too(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = FakeStream(spark, tmp_path)
    ensure_refined_tables(spark, stream.tables, STRICT)
    monkeypatch.setattr("tests.spark.fake_stream.LENIENT", STRICT)
    stream.batch(10)
    (newest,) = (stats for stats in statistics(stream.tables.silver) if "v" in stats["maxValues"])
    assert newest["nullCount"]["w"] == 8


def test_nulls_that_nobody_counted_are_not_said_to_be_minus_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = str(tmp_path / "t")
    spark.sql(f"CREATE TABLE delta.`{table}` (i int, b binary, day date) {BY_DAY}")
    rows = spark.sql("SELECT 1 i, cast('x' as binary) b, DATE'2026-11-18' day")
    names = ("i", "b", "day")
    write(rows, [Output(table, names, names)]).commit(table, WrittenBatch("one", 0))
    (stats,) = statistics(table)
    assert stats["nullCount"] == {"i": 0}


def statistics(table: str) -> list[dict[str, dict[str, int]]]:
    """Of the newest version's files."""
    newest = max(Path(table, "_delta_log").glob("*.json"))
    actions = [json.loads(line) for line in newest.read_text().splitlines()]
    return [json.loads(action["add"]["stats"]) for action in actions if "add" in action]
