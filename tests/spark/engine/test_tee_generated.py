"""Whatever a table has and whatever comes, our writer and Delta's own make the same rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from spark_jobs.engine.append import Output, WrittenBatch, append_once, write

_EARLIEST, _LATEST = datetime(1, 1, 2), datetime(9999, 12, 30)  # noqa: DTZ001 - made UTC below
_SIMPLE: dict[str, st.SearchStrategy[Any]] = {
    "int": st.integers(-(2**31), 2**31 - 1),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "double": st.floats(),
    "boolean": st.booleans(),
    "string": st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    "binary": st.binary(max_size=60).map(bytearray),
    "date": st.dates(date(1, 1, 2), date(9999, 12, 30)),
    "timestamp": st.datetimes(_EARLIEST, _LATEST, timezones=st.just(UTC)),
}
Typed = tuple[str, st.SearchStrategy[Any]]


def _typed(name: str) -> Typed:
    return name, st.none() | _SIMPLE[name]


def _array(inner: Typed) -> Typed:
    return f"array<{inner[0]}>", st.none() | st.lists(inner[1], max_size=3)


def _struct(inner: list[Typed]) -> Typed:
    declared = ",".join(f"f{n}:{kind}" for n, (kind, _) in enumerate(inner))
    return f"struct<{declared}>", st.none() | st.tuples(*(values for _, values in inner))


_TYPES = st.recursive(
    st.sampled_from(sorted(_SIMPLE)).map(_typed),
    lambda inner: inner.map(_array) | st.lists(inner, min_size=1, max_size=3).map(_struct),
    max_leaves=4,
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The types of some columns, and rows; the last column is the day."""
    types: list[Typed] = draw(st.lists(_TYPES, min_size=1, max_size=6))
    days = st.sampled_from([date(2026, 11, 18), date(2026, 11, 19)])
    row = st.tuples(*(values for _, values in types), days)
    return [kind for kind, _ in types], draw(st.lists(row, min_size=1, max_size=20))


def _shown(value: Any) -> Any:
    """NaN equals itself, and -0.0 is not 0.0."""
    if isinstance(value, float):
        return ("nan",) if math.isnan(value) else (value, math.copysign(1, value))
    if isinstance(value, list | tuple):
        return tuple(map(_shown, value))
    return bytes(value) if isinstance(value, bytearray) else value


@pytest.mark.generated
# Each writes two tables.
@settings(max_examples=6)
@given(table=tables())
def test_our_writer_and_deltas_own_make_the_same_rows(
    spark: SparkSession, table: tuple[list[str], list[tuple[Any, ...]]]
) -> None:
    kinds, values = table
    names = [*(f"c{n}" for n in range(len(kinds))), "day"]
    declared = ", ".join(f"{n} {k}" for n, k in zip(names, [*kinds, "date"], strict=True))
    rows = spark.createDataFrame(values, declared).coalesce(1)

    def by_us(place: str) -> None:
        written = write(rows, [Output(place, names, names)])
        assert written.obstacle(place) == ""
        written.commit(place, WrittenBatch("one", 0))

    def by_delta(place: str) -> None:
        append_once(rows, place, WrittenBatch("one", 0))

    def made(by: Callable[[str], None]) -> list[Any]:
        with TemporaryDirectory() as folder:
            place = str(Path(folder) / "t")
            spark.sql(f"CREATE TABLE delta.`{place}` ({declared}) USING delta PARTITIONED BY (day)")
            by(place)
            return [_shown(row) for row in spark.read.format("delta").load(place).collect()]

    ours = made(by_us)
    assert sorted(map(repr, ours)) == sorted(map(repr, made(by_delta)))
    assert len(ours) == len(values)
