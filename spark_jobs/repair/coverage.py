"""Which offsets tables hold, said in words of 64: small, whatever the number of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import groupby

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as f

from millrace.base.ranges import Ranges, ranges_of_words
from millrace.kafka.core.coordinates import Part

_FULL = -1


_HELD_BY = "held_by"


def words_of(
    tables: Mapping[str, DataFrame],
    parts: Mapping[str, Column] | None = None,
    keep: Sequence[str] = (),
    by: Sequence[str] = (),
) -> DataFrame:
    """A row for each 64 offsets of a partition: a mask and a count of rows for each table.

    `parts` has more masks: of the rows for which a condition holds, on whose they are (`is_of`)
    and on the columns to `keep`. So each table is read once, however much is asked of it. `by`:
    a row for each value of these, too.
    """
    tagged = [
        rows.select(*Part._fields, "offset", *keep, f.lit(name).alias(_HELD_BY))
        for name, rows in tables.items()
    ]
    conditions = {name: is_of(name) for name in tables} | dict(parts or {})
    bit = f.expr("shiftleft(1L, cast(offset & 63 as int))")
    sums: list[Column] = []
    for name, holds in conditions.items():
        sums += [
            f.coalesce(f.bit_or(f.when(holds, bit)), f.lit(0)).cast("bigint").alias(name),
            f.count_if(holds).alias(rows_in(name)),
        ]
    word = f.shiftright("offset", 6).alias("word")
    return reduce(DataFrame.unionAll, tagged).groupBy(*Part._fields, *by, word).agg(*sums)


def is_of(*tables: str) -> Column:
    return f.col(_HELD_BY).isin(*tables)


def whole_words(words: DataFrame, names: Iterable[str]) -> DataFrame:
    """Of words that were counted by something, words."""
    sums: list[Column] = []
    for name in names:
        sums += [f.bit_or(name).alias(name), f.sum(rows_in(name)).alias(rows_in(name))]
    return words.groupBy(*Part._fields, "word").agg(*sums)


def rows_in(table: str) -> str:
    return f"{table}_rows"


def ranges_of(words: DataFrame, masks: Mapping[str, str]) -> dict[str, dict[Part, Ranges]]:
    """For each name the offsets whose bits are set in its mask, in one pass.

    Neighbouring full words come as one row; the others one by one.
    """
    listed = ", ".join(f"'{name}', {mask}" for name, mask in masks.items())
    stack = f"stack({len(masks)}, {listed}) as (name, mask)"
    stacked = words.selectExpr(*Part._fields, "word", stack)
    is_full = f.col("mask") == _FULL
    in_order = Window.partitionBy("name", *Part._fields, is_full).orderBy("word")
    run = f.when(is_full, f.col("word") - f.row_number().over(in_order)).otherwise(f.col("word"))
    runs = (
        stacked.where("mask != 0")
        .select("name", *Part._fields, "word", "mask", run.alias("run"))
        .groupBy("name", *Part._fields, "run", "mask")
        .agg(f.min("word").alias("first"), f.max("word").alias("last"))
        .orderBy("name", *Part._fields)
    )
    found: dict[str, dict[Part, Ranges]] = {name: {} for name in masks}
    for (name, part), rows in groupby(runs.toLocalIterator(), _key):
        found[name][part] = ranges_of_words(_words(rows))
    return found


def _words(rows: Iterator[Row]) -> Iterator[tuple[int, int, int]]:
    return ((row["first"], row["last"], row["mask"]) for row in rows)


def _key(row: Row) -> tuple[str, Part]:
    return row["name"], Part(*(row[name] for name in Part._fields))
