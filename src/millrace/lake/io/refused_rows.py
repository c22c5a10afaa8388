"""The newest refused rows, without reading the table."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC
from pathlib import Path

from deltalake import DeltaTable, QueryBuilder

from millrace.lake.core.quarantine import COLUMNS, Refused, WrittenFile, as_refused, newest_since
from millrace.lake.io.tables import open_table
from millrace.storage.core.bucket import Bucket

_LOGGED = ("modification_time", "num_records", "min.kafka_time")


def newest_refused(place: str | Path, bucket: Bucket | None, count: int) -> list[Refused]:
    table = open_table(place, bucket)
    since = newest_since(list(_files(table)), count)
    if since is None:
        return []
    # The files' bounds let the reader leave out all that are older.
    query = (
        f"SELECT {', '.join(_quoted(name) for name in COLUMNS)} FROM t"  # noqa: S608 - no user's words
        f" WHERE kafka_time >= TIMESTAMP '{since.isoformat()}'"
        f" ORDER BY kafka_time DESC LIMIT {count}"
    )
    batches = QueryBuilder().register("t", table).execute(query)
    rows = [row for batch in batches for row in zip(*map(_values, batch.columns), strict=True)]
    return [as_refused(dict(zip(COLUMNS, row, strict=True))) for row in rows]


def _files(table: DeltaTable) -> Iterator[WrittenFile]:
    actions = table.get_add_actions(flatten=True)
    if "min.kafka_time" not in actions.column_names:
        return
    for batch in actions.select(list(_LOGGED)).to_batches():
        columns = (batch.column(name).to_pylist() for name in _LOGGED)
        for written_ms, rows, first_time in zip(*columns, strict=True):
            if rows and first_time:
                yield WrittenFile(written_ms, rows, first_time.astimezone(UTC))


def _values(column: object) -> list[object]:
    return column.to_pylist()  # type: ignore[attr-defined,no-any-return]


def _quoted(name: str) -> str:
    return f'"{name}"'
