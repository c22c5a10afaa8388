"""Do silver and quarantine together hold every bronze row, each once?"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from millrace.core.coordinates import Part, in_ranges
from millrace.core.ranges import Ranges, hull
from millrace.core.silver import COORDINATES
from spark_jobs.coverage import ranges_of, rows_in, words_of

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


def disagreements(tables: Mapping[str, DataFrame]) -> Found:
    """By the names of AGREEMENT, and `doubled_<layer>`: empty where all is well."""
    held = {**tables, "due": tables["bronze"]}
    doubles = {f"doubled_{layer}": doubles_mask(layer) for layer in tables}
    return ranges_of(words_of(held), {**AGREEMENT, **doubles})


def rows_by_day(tables: Mapping[str, DataFrame]) -> DataFrame:
    tagged = [rows.select("day", f.lit(name).alias("layer")) for name, rows in tables.items()]
    counts = [f.count_if(f.col("layer") == name).alias(name) for name in tables]
    return reduce(DataFrame.unionAll, tagged).groupBy("day").agg(*counts).orderBy("day")
