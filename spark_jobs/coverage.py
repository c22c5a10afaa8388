"""Which offsets tables hold, said in words of 64: small, whatever the number of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from itertools import groupby

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as f

from millrace.core.coordinates import Part
from millrace.core.ranges import Ranges, ranges_of_words

_PART = ("site", "topic", "partition")
_FULL = -1


def words_of(tables: Mapping[str, DataFrame]) -> DataFrame:
    """A row for each 64 offsets of a partition: a mask and a count of rows for each table."""
    tagged = [
        rows.select(*_PART, "offset", f.lit(name).alias("held_by")) for name, rows in tables.items()
    ]
    bit = f.expr("shiftleft(1L, cast(offset & 63 as int))")
    sums: list[Column] = []
    for name in tables:
        held = f.col("held_by") == name
        sums += [
            f.coalesce(f.bit_or(f.when(held, bit)), f.lit(0)).cast("bigint").alias(name),
            f.count(f.when(held, True)).alias(rows_in(name)),
        ]
    word = f.shiftright("offset", 6).alias("word")
    return reduce(DataFrame.unionAll, tagged).groupBy(*_PART, word).agg(*sums)


def rows_in(table: str) -> str:
    return f"{table}_rows"


def ranges_of(words: DataFrame, mask: Column) -> dict[Part, Ranges]:
    """The offsets whose bits are set. Full words come as few rows; the others one by one."""
    masks = words.select(*_PART, "word", mask.alias("mask")).where("mask != 0")
    in_order = Window.partitionBy(*_PART).orderBy("word")
    full = masks.where(f.col("mask") == _FULL)
    island = (f.col("word") - f.row_number().over(in_order)).alias("island")
    runs = (
        full.select(*_PART, "word", island)
        .groupBy(*_PART, "island")
        .agg(f.min("word").alias("first"), f.max("word").alias("last"))
        .select(*_PART, "first", "last", f.lit(_FULL).cast("bigint").alias("mask"))
    )
    partial = masks.where(f.col("mask") != _FULL).selectExpr(
        *_PART, "word as first", "word as last", "mask"
    )
    rows = runs.unionAll(partial).orderBy(*_PART).toLocalIterator()
    return {part: ranges_of_words(_words(group)) for part, group in groupby(rows, _part)}


def _words(rows: Iterator[Row]) -> Iterator[tuple[int, int, int]]:
    return ((row["first"], row["last"], row["mask"]) for row in rows)


def _part(row: Row) -> Part:
    return Part(row["site"], row["topic"], row["partition"])
