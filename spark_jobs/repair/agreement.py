"""Do silver and quarantine together hold every bronze row, each once?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from millrace.base.ranges import Ranges, hull
from millrace.kafka.core.coordinates import Part, in_ranges, since_day
from millrace.lake.core.silver import COORDINATES
from millrace.repair.core.backfill_spec import DayRows
from spark_jobs.repair.coverage import is_of, ranges_of, rows_in, whole_words, words_of

LAYERS = ("bronze", "silver", "quarantine")
# `due`: the bronze rows that have to be refined.
AGREEMENT = {
    "unrefined": "due & ~(silver | quarantine)",
    "orphaned": "(silver | quarantine) & ~bronze",
    "in_both": "silver & quarantine",
}
Found = Mapping[str, Mapping[Part, Ranges]]


def doubles_mask(layer: str) -> str:
    """The words in which there are more rows than offsets."""
    return f"if({rows_in(layer)} > bit_count({layer}), {layer}, 0L)"


def exact_doubles(rows: DataFrame, suspects: Mapping[Part, Ranges]) -> dict[Part, Ranges]:
    if not suspects:
        return {}
    near = rows.where(in_ranges({part: hull(ranges) for part, ranges in suspects.items()}))
    doubled = near.groupBy(*COORDINATES).count().where("count > 1")
    return ranges_of(words_of({"doubled": doubled}), {"doubled": "doubled"})["doubled"]


@dataclass(frozen=True)
class TableComparison:
    # Offsets, by `bronze`, `doubled_<layer>` and the names of AGREEMENT: the last two are empty
    # where all is well.
    found: Found
    days: tuple[DayRows, ...]


def compare(tables: Mapping[str, DataFrame], due_since: date | None = None) -> TableComparison:
    """Bronze alone, or all three; each is read once. Older rows than `due_since` are not missed."""
    parts = {"due": is_of("bronze") & f.expr(since_day(due_since))} if len(tables) > 1 else {}
    words = words_of(tables, parts, keep=["day"], by=["day"]).persist()
    masks = {"bronze": "bronze"} | {f"doubled_{layer}": doubles_mask(layer) for layer in tables}
    try:
        whole = whole_words(words, [*tables, *parts])
        found = ranges_of(whole, masks | (AGREEMENT if parts else {}))
        return TableComparison(found, _days(words, tables))
    finally:
        words.unpersist()


def rows_by_day(tables: Mapping[str, DataFrame]) -> tuple[DayRows, ...]:
    return _days(words_of(tables, keep=["day"], by=["day"]), tables)


def _days(words: DataFrame, layers: Iterable[str]) -> tuple[DayRows, ...]:
    counts = [f.sum(rows_in(layer)).alias(layer) for layer in layers]
    days = words.groupBy("day").agg(*counts).orderBy("day").collect()
    return tuple(DayRows(**day.asDict()) for day in days)
