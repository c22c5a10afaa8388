"""Rows into Delta tables, each batch of a writer once: see jvm/src/millrace/delta and tee."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.java import java_rows, java_session, jvm

_HELD = -1


class Batch(NamedTuple):
    """What a table remembers: who wrote, and the number of its last batch."""

    writer: str
    number: int


def append_once(rows: DataFrame, table: str, batch: Batch) -> int | None:
    """How many rows; None where the table holds the batch already."""
    append = jvm(rows.sparkSession).millrace.delta.AppendOnce.append
    count = int(append(java_rows(rows), table, *batch))
    return None if count == _HELD else count


def holds(spark: SparkSession, table: str, batch: Batch) -> bool:
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

    def observed(self) -> dict[str, int]:
        """What the rows were asked to count on their way."""
        counts: dict[str, int] = json.loads(self.java.observed())
        return counts

    def commit(self, table: str, batch: Batch) -> None:
        """Fails where the table holds the batch already."""
        self.java.commit(table, *batch)


def write(rows: DataFrame, outputs: Sequence[Output]) -> Written:
    """One pass over the rows, into the files of all the tables."""
    tee = jvm(rows.sparkSession).millrace.tee.Tee(java_rows(rows))
    for one in outputs:
        tee.into(one.table, list(one.columns), list(one.sources), one.when)
    return Written(tee.write())
