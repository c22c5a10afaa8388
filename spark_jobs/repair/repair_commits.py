"""Commits of replay and backfill: beside the stream's, one after the other among themselves.

A repair reads the table's repair number, then the tables, and commits under the next number. Who
was overtaken by another repair, or by a compaction of the same files, looks again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from delta.exceptions import (
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentTransactionException,
)
from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame, SparkSession

from millrace.base.errors import MillraceError
from millrace.lake.core.silver import COORDINATES
from spark_jobs.engine.append import WrittenBatch, append_once
from spark_jobs.engine.java import java_rows, java_session, jvm

log = logging.getLogger(__name__)

_TRIES = 10
Done = TypeVar("Done")


class OvertakenError(Exception):
    """Another repair came first: what was read is not what is there."""


class BusyError(MillraceError):
    """Other repairs or compactions change the same files faster than this one can."""


_OVERTAKEN = (
    OvertakenError,
    ConcurrentTransactionException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
)


def until_first(work: Callable[[], Done]) -> Done:
    """Do the work, reading included, until nobody comes between."""
    for _ in range(_TRIES):
        try:
            return work()
        except _OVERTAKEN as error:
            log.info("another writer committed first; trying again: %s", str(error).split("\n")[0])
    raise BusyError(
        f"overtaken {_TRIES} times by other replays, backfills or maintenance; run this after them"
    )


def next_number(spark: SparkSession, table: str) -> int:
    """To be asked for before anything is read."""
    return int(_java(spark).last(java_session(spark), table)) + 1


def add(rows: DataFrame, table: str, number: int, check: Callable[[], None] = lambda: None) -> int:
    """Append rows that the table has not; returns how many. `check`: as of `append_once`."""
    in_order = rows.sortWithinPartitions(*COORDINATES)
    writer = str(_java(rows.sparkSession).WRITER)
    added = append_once(in_order, table, WrittenBatch(writer, number), check)
    if added is None:
        raise OvertakenError(f"{table}: another repair has number {number}")
    return added


def replace(rows: DataFrame, table: str, days: str, where: str, number: int) -> None:
    """The rows for which `where` holds, all of them on these days, become `rows`.

    Only rows that differ are written, with the files they stand in.
    """
    java = _java(rows.sparkSession)
    if not java.replace(java_rows(rows), table, days, where, list(COORDINATES), number):
        raise OvertakenError(f"{table}: another repair has number {number}")


def _java(spark: SparkSession) -> JavaObject:
    """See jvm/src/millrace/delta/Repair.java."""
    return jvm(spark).millrace.delta.Repair
