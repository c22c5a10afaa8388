"""Rows of a bronze table, made without Spark."""

from __future__ import annotations

from datetime import date, datetime

from arro3.core import Array, DataType, Table


def rows_of(day: date, *times: datetime, came: datetime | None = None) -> Table:
    """A row for each time that it came to the broker; `came`: into the table."""
    epoch = date(1970, 1, 1)
    columns = {
        "offset": Array(list(range(len(times))), DataType.int64()),
        "kafka_time": _instants(*times),
        **({"ingested_at": _instants(*[came] * len(times))} if came else {}),
        "day": Array([(day - epoch).days] * len(times), DataType.int32()).cast(DataType.date32()),
    }
    return Table.from_pydict(columns)


def _instants(*times: datetime) -> Array:
    micros = [int(time.timestamp() * 1_000_000) for time in times]
    return Array(micros, DataType.int64()).cast(DataType.timestamp("us", tz="UTC"))
