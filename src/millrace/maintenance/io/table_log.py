"""A table's log, read without Spark: a plan is there before any engine starts."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from datetime import date, datetime, timedelta

from deltalake import DeltaTable

from millrace.maintenance.core.logged_files import DataFile, TableLog
from millrace.maintenance.core.retention import unneeded_before
from millrace.storage.io.objects import Objects

_COLUMNS = ("partition.day", "path", "size_bytes", "modification_time")
_FIRST, _CAME = "min.kafka_time", "max.ingested_at"


def read_log(table: DeltaTable, files: Objects, vacuum_after: timedelta, now: datetime) -> TableLog:
    """`files` are those of the table's folder."""
    log = TableLog(version=table.version(), checkpoint=_checkpoint(files), days=_days(table))
    before = unneeded_before(log, now, vacuum_after)
    if before is None:
        return log
    return replace(log, unneeded_files=_count_unneeded(table, files, now - before))


def _days(table: DeltaTable) -> dict[date, list[DataFile]]:
    days: dict[date, list[DataFile]] = defaultdict(list)
    actions = table.get_add_actions(flatten=True)
    for batch in actions.to_batches():
        known = (batch.column(name).to_pylist() for name in _COLUMNS)
        # A table whose files have no statistics has no such column.
        bounds = (
            batch.column(name).to_pylist()
            if name in actions.column_names
            else [None] * batch.num_rows
            for name in (_FIRST, _CAME)
        )
        for day, path, size_bytes, written_ms, first, came in zip(*known, *bounds, strict=True):
            times = _ms(first, written_ms), _ms(came, written_ms)
            days[day].append(DataFile(path, size_bytes, written_ms, *times))
    return days


def _ms(bound: datetime | None, written_ms: int) -> int:
    """Without statistics a file's rows are as old as its writing."""
    return int(bound.timestamp() * 1_000) if bound else written_ms


def _count_unneeded(table: DeltaTable, files: Objects, older_than: timedelta) -> int:
    """At most so many. What a vacuum took is named on while the log remembers its removal."""
    hours = max(0, -(-older_than // timedelta(hours=1)))
    found = table.vacuum(hours, dry_run=True, full=True)
    return len(found) if any(files.modified_at(path) for path in found) else 0


def _checkpoint(files: Objects) -> int | None:
    text = files.read("_delta_log/_last_checkpoint")
    return int(json.loads(text)["version"]) if text else None
