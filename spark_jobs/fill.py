"""Adds rows to a table that holds some of them already."""

from __future__ import annotations

import logging

from delta.exceptions import (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
)
from delta.tables import DeltaTable
from pyspark.sql import DataFrame

from millrace.core.coordinates import same_coordinates

log = logging.getLogger(__name__)

_TRIES = 10
CONFLICTS = (
    ConcurrentAppendException,
    ConcurrentDeleteReadException,
    ConcurrentDeleteDeleteException,
)


def add_missing(rows: DataFrame, table: str, where: str) -> int:
    """Insert those whose coordinates the table has not; returns how many.

    `where` holds for every row of the table (alias `t`) that one of these could be, and keeps the
    rest of the table from being read. Two that add the same rows at once: the later one to commit
    finds that what it read has changed, and looks again.
    """
    for left in reversed(range(_TRIES)):
        try:
            return _merge(rows, table, where)
        except CONFLICTS as error:
            if not left:
                raise
            log.info("table %s changed meanwhile, once more: %s", table, str(error).split("\n")[0])
    raise AssertionError


def _merge(rows: DataFrame, table: str, where: str) -> int:
    target = DeltaTable.forPath(rows.sparkSession, table).alias("t")
    merge = target.merge(rows.alias("s"), f"{same_coordinates('t', 's')} AND {where}")
    done = merge.whenNotMatchedInsertAll().execute()
    return int(done.first()["num_inserted_rows"])
