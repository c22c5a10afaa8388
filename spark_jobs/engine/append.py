"""Rows into Delta tables, each batch of a writer once: see jvm/src/millrace/delta and tee."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from delta.exceptions.captured import MetadataChangedException, ProtocolChangedException
from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.engine.java import java_rows, java_session, jvm

log = logging.getLogger(__name__)

_CHANGED = (MetadataChangedException, ProtocolChangedException)
_TRIES = 5


class WrittenBatch(NamedTuple):
    """What a table remembers: who wrote, and the number of its last batch."""

    writer: str
    number: int


def append_once(
    rows: DataFrame, table: str, batch: WrittenBatch, check: Callable[[], None] = lambda: None
) -> int | None:
    """How many rows; None where the table holds the batch already.

    `check`: called when all rows are read; where it raises, the table has none of them.
    """
    files = jvm(rows.sparkSession).millrace.delta.AppendOnce.write(java_rows(rows), table, *batch)
    if files is None:
        return None
    check()
    return int(files.commit())


def append_by_delta(rows: DataFrame, table: str, batch: WrittenBatch) -> None:
    """By nothing but Delta's documented options; nothing where the table holds the batch."""
    once = {"txnAppId": batch.writer, "txnVersion": str(batch.number)}
    rows.write.format("delta").mode("append").options(**once).save(table)


def holds(spark: SparkSession, table: str, batch: WrittenBatch) -> bool:
    java = jvm(spark).millrace.delta.AppendOnce
    return bool(java.holds(java_session(spark), table, *batch))


@dataclass(frozen=True)
class Output:
    """What a table takes of the rows: those for which `when` is true, without it all."""

    table: str
    # The table's columns, and what the rows call them.
    columns: Sequence[str]
    sources: Sequence[str]
    when: str | None = None


@dataclass(frozen=True)
class Written:
    """Files that no table knows of yet."""

    java: JavaObject

    def rows(self, table: str) -> int:
        return int(self.java.rows(table))

    def obstacle(self, table: str) -> str:
        """Why Delta's own writer made the files of this table; empty where it did not."""
        return str(self.java.obstacle(table))

    def observed(self) -> dict[str, int]:
        """What the rows were asked to count on their way."""
        counts: dict[str, int] = json.loads(self.java.observed())
        return counts

    def commit(self, table: str, batch: WrittenBatch) -> None:
        """Fails where the table holds the batch, or has changed since the files were written."""
        self.java.commit(table, *batch)


def write(rows: DataFrame, outputs: Sequence[Output]) -> Written:
    """One pass over the rows, into the files of all the tables."""
    tee = jvm(rows.sparkSession).millrace.tee.Tee(java_rows(rows))
    for one in outputs:
        tee.into(one.table, list(one.columns), list(one.sources), one.when)
    written = Written(tee.write())
    for one in outputs:
        if obstacle := written.obstacle(one.table):
            _tell_once(one.table, obstacle)
    return written


def while_tables_change(work: Callable[[], None]) -> None:
    """Do the work again where columns, properties or features changed under it."""
    for _ in range(_TRIES - 1):
        try:
            return work()
        except _CHANGED as change:
            log.warning(
                "the table was changed; the batch is written again: %s",
                str(change).split("\n")[0],
            )
    return work()


@cache
def _tell_once(table: str, obstacle: str) -> None:
    log.warning(
        "table %s: Delta's own writer writes its files, because of %s; batches take longer, as the"
        " messages are read a second time for it",
        *(table, obstacle),
    )
