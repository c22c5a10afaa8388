"""What the tables of a job have of a load."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from deltalake import DeltaTable, QueryBuilder

from benchmarks.faults.stands.load import parse
from benchmarks.faults.stands.tally import Count, Message, Numbered, Tally


def in_silver(table: str) -> Tally:
    """Batch after batch, and within one in the order of offsets."""
    tally = Tally()
    for key, number in _rows(
        table, 'SELECT id, n FROM t ORDER BY ingested_at, "partition", "offset"'
    ):
        tally.see(Message(key, number, 0.0))
    return tally


def in_bronze(table: str) -> Numbered:
    values = _rows(table, "SELECT value FROM t")
    return {(found.key, found.number) for (value,) in values if (found := parse(value))}


def doubled_in(bronze: str) -> Count:
    """Rows of the same coordinates; a message that came twice has two, and is in silver once."""
    rows = list(_rows(bronze, 'SELECT topic_id, "partition", "offset" FROM t'))
    return Count(0, len(rows) - len({*rows}), 0)


def _rows(table: str, query: str) -> Iterator[tuple[Any, ...]]:
    for batch in QueryBuilder().register("t", DeltaTable(table)).execute(query):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
