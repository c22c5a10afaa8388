"""The rows of a table as they arrive, read without Spark."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from deltalake import DeltaTable, QueryBuilder

from millrace.lake.core import bronze
from millrace.lake.io.tables import open_table
from millrace.storage.core.bucket import Bucket

Row = dict[str, Any]
_NAMES = [name for name, _ in bronze.COLUMNS]


def follow_table(
    place: str | Path, bucket: Bucket | None = None, *, from_start: bool, poll_s: float = 0.5
) -> Iterator[Row]:
    """Endless: rows that are there (`from_start`), then those of each new version."""
    table = open_table(place, bucket)
    version = table.version()
    if from_start:
        yield from _rows(QueryBuilder().register("t", table).execute("SELECT * FROM t"))
    while True:
        yield from read_new_rows(table, version)
        version = table.version()
        time.sleep(poll_s)


def read_new_rows(table: DeltaTable, since_version: int) -> Iterator[Row]:
    """What came after a version; the table is brought up to date on the way."""
    table.update_incremental()
    if table.version() > since_version:
        # Days that are over their time are changes too.
        added = "_change_type = 'insert'"
        yield from _rows(table.load_cdf(since_version + 1, table.version(), predicate=added))


def _rows(batches: Any) -> Iterator[Row]:
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in _NAMES]
        for values in zip(*columns, strict=True):
            yield dict(zip(_NAMES, values, strict=True))
