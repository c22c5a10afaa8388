"""Files of several tables from one pass: what Delta itself would have made of the rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyarrow.parquet import ParquetFile
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.engine.append import Output, WrittenBatch, append_once, write

COLUMNS = {
    "s": "string",
    "i": "int",
    "l": "bigint",
    "d": "double",
    "b": "boolean",
    "at": "timestamp",
    "on": "date",
    "none": "string",
    "v": "variant",
    "raw": "binary",
    "names": "array<string>",
    "headers": "array<struct<key:string,value:binary>>",
    "day": "date",
}
UNBOUNDED = ("b", "v", "raw", "names", "headers", "day")
ONE = WrittenBatch("one", 0)


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    """Two days of rows with nulls, long text, and times finer than a millisecond."""
    return spark.range(1000).selectExpr(
        "if(id % 7 = 0, null, concat('text', repeat(chr(97 + id % 26), 10 + id % 40))) s",
        "cast(id - 500 as int) i",
        "id * 4000000000 l",
        "if(id % 5 = 0, null, id / 8 - 50) d",
        "id % 2 = 0 b",
        "if(id % 99 = 0, TIMESTAMP'0001-01-01', timestamp_micros(1763467200123456 + id * 1777)) at",
        "date_add(DATE'1969-12-01', cast(id as int)) on",
        "cast(null as string) none",
        "if(id % 11 = 0, null, parse_json(concat('{\"n\":', id, '}'))) v",
        "if(id % 13 = 0, null, cast(repeat('x', cast(id % 3 as int)) as binary)) raw",
        "case id % 4 when 0 then null when 1 then array() when 2 then array('one', null)"
        " else array(cast(id as string)) end names",
        "case id % 4 when 0 then null when 1 then array() when 2 then array(null,"
        " named_struct('key', 'k', 'value', cast(null as binary))) else array(named_struct("
        "'key', cast(id as string), 'value', encode(cast(id as string), 'UTF-8'))) end headers",
        "if(id < 600, DATE'2026-11-18', DATE'2026-11-19') day",
    )


def make(spark: SparkSession, table: Path, *more: str) -> str:
    declared = ", ".join([*(f"`{name}` {kind}" for name, kind in COLUMNS.items()), *more])
    counted = ",".join(name for name in COLUMNS if name not in UNBOUNDED)
    spark.sql(
        f"CREATE TABLE delta.`{table}` ({declared}) USING delta PARTITIONED BY (day)"
        f" TBLPROPERTIES ('delta.dataSkippingStatsColumns' = '{counted}')"
    )
    return str(table)


def output(table: str, when: str | None = None) -> Output:
    return Output(table, list(COLUMNS), list(COLUMNS), when)


def bounds(table: str) -> set[tuple[object, ...]]:
    """Of the newest commit's files, by day, kind and column."""
    newest = max(Path(table, "_delta_log").glob("*.json"))
    actions = [json.loads(line) for line in newest.read_text().splitlines()]
    files = [action["add"] for action in actions if "add" in action]
    found = {file["partitionValues"]["day"]: json.loads(file["stats"]) for file in files}
    rows = {(day, stats.pop("numRecords")) for day, stats in found.items()}
    return rows | {
        (day, kind, name, value)
        for day, kinds in found.items()
        for kind, columns in kinds.items()
        for name, value in columns.items()
    }


def test_statistics_are_those_that_delta_counts(
    spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    ours, theirs = make(spark, tmp_path / "ours"), make(spark, tmp_path / "theirs")
    write(rows.coalesce(1), [output(ours)]).commit(ours, ONE)
    append_once(rows.coalesce(1), theirs, ONE)
    assert bounds(ours) ^ bounds(theirs) == set()
    # Of each day the number of rows, and six columns with bounds beside one with nulls alone.
    assert len(bounds(ours)) == 2 * (1 + 6 + 6 + 7)


def test_each_table_gets_its_rows_as_they_are(
    spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    whole, some = make(spark, tmp_path / "whole"), make(spark, tmp_path / "some")
    marked = rows.selectExpr("*", "i > 0 as chosen")
    written = write(marked, [output(whole), output(some, "chosen")])
    for table, wanted in ((whole, rows), (some, rows.where("i > 0"))):
        written.commit(table, ONE)
        assert written.rows(table) == wanted.count()
        found = spark.read.format("delta").load(table)
        texts = [frame.selectExpr("* except (v)", "to_json(v) v") for frame in (found, wanted)]
        assert texts[0].exceptAll(texts[1]).isEmpty()
        assert texts[1].exceptAll(texts[0]).isEmpty()


def test_a_value_beyond_all_bounds_is_found(
    spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    table = make(spark, tmp_path / "t")
    odd = rows.selectExpr("* except (d)", "if(i = 0, double('NaN'), if(i = 1, double('inf'), d)) d")
    write(odd, [output(table)]).commit(table, ONE)
    found = spark.read.format("delta").load(table)
    assert found.where("d > 1e300").count() == 2
    assert found.where("isnan(d)").count() == 1


@pytest.mark.parametrize(("count", "length"), [(10_000, 5_000), (60, 1_000_000)])
def test_what_is_held_in_memory_is_bounded_however_much_comes(
    spark: SparkSession, tmp_path: Path, count: int, length: int
) -> None:
    """Parquet holds a row group until it is full, and a backlog fills many at once."""
    table = str(tmp_path / "noise")
    spark.sql(f"CREATE TABLE delta.`{table}` (s string, day date) USING delta PARTITIONED BY (day)")
    noise = spark.range(0, count, 1, 1).selectExpr(
        f"randstr({length}, 1) s", "DATE'2026-11-18' day"
    )
    write(noise, [Output(table, ["s", "day"], ["s", "day"])]).commit(table, ONE)
    (file,) = Path(table).rglob("*.parquet")
    footer = ParquetFile(file).metadata
    groups = [footer.row_group(n).total_byte_size for n in range(footer.num_row_groups)]
    assert len(groups) > 1
    assert max(groups) < 40e6
