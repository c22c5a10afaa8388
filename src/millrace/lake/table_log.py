"""A table's log, read without Spark: a plan is there before any engine starts."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import date, datetime, timedelta

from deltalake import DeltaTable

from millrace.core.maintenance.log import DataFile, TableLog
from millrace.state.objects import Objects

_COLUMNS = ("partition.day", "path", "size_bytes", "modification_time", "min.kafka_time")


def read_log(table: DeltaTable, files: Objects, vacuum_after: timedelta) -> TableLog:
    """`files` are those of the table's folder."""
    return TableLog(
        version=table.version(),
        checkpoint=_checkpoint(files),
        days=_days(table),
        unneeded_files=_count_unneeded(table, files, vacuum_after),
    )


def _days(table: DeltaTable) -> dict[date, list[DataFile]]:
    days: dict[date, list[DataFile]] = defaultdict(list)
    actions = table.get_add_actions(flatten=True)
    known = [name for name in _COLUMNS if name in actions.column_names]
    for batch in actions.select(known).to_batches():
        columns = (batch.column(name).to_pylist() for name in known)
        for day, path, size_bytes, written_ms, *first in zip(*columns, strict=True):
            first_ms = _first_ms(first, written_ms)
            days[day].append(DataFile(path, size_bytes, written_ms, first_ms))
    return days


def _first_ms(first: list[datetime | None], written_ms: int) -> int:
    """A file without statistics is as old as its writing."""
    return int(first[0].timestamp() * 1_000) if first and first[0] else written_ms


def _count_unneeded(table: DeltaTable, files: Objects, after: timedelta) -> int:
    """At most so many. What a vacuum took is named on while the log remembers its removal."""
    hours = -(-int(after.total_seconds()) // 3_600)
    found = table.vacuum(hours, dry_run=True, full=True)
    return len(found) if any(files.modified_at(path) for path in found) else 0


def _checkpoint(files: Objects) -> int | None:
    text = files.read("_delta_log/_last_checkpoint")
    return int(json.loads(text)["version"]) if text else None
