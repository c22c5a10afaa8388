"""The sink: one batch into bronze, silver and quarantine, once.

Each table remembers the last batch it took, so a batch that is repeated after a crash goes on where
it was interrupted.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame, SparkSession

from millrace.core.coordinates import in_ranges
from millrace.core.engine import Tables
from millrace.core.refine import RefineSpec
from millrace.core.silver import COORDINATES
from millrace.core.span import Span
from millrace.core.store import Bucket
from millrace.state.checkpoint import Checkpoint
from millrace.state.generations import latest
from spark_jobs.java import java_rows, jvm
from spark_jobs.refine import quarantine_rows, refine, refused_rows, silver_rows
from spark_jobs.rows import bronze_rows

_CORES = 2
_ROWS_WORTH_A_FILE = 50_000


class FencedError(Exception):
    """A newer generation owns the checkpoint."""


@dataclass(frozen=True)
class Fence:
    """Holds while this generation is the newest."""

    place: str | Path
    generation: int
    bucket: Bucket | None = None

    def check(self) -> None:
        newest = latest(self.place, self.bucket)
        if newest != self.generation:
            raise FencedError(f"generation {newest} took over from {self.generation}")


@dataclass(frozen=True)
class BatchSink:
    """Called by Spark with each batch of one site."""

    site: str
    tables: Tables
    refine: RefineSpec | None
    checkpoint: Checkpoint
    fence: Fence

    def __call__(self, records: DataFrame, batch_id: int) -> None:
        self.fence.check()
        span = self._span(batch_id)
        rows = bronze_rows(records, self.site).coalesce(_file_count(span))
        added = self._append(rows, self.tables.bronze, batch_id)
        if self.refine is None:
            return
        if added is None:
            again = read_span(rows.sparkSession, self.tables.bronze, span)
            self._refine(again, self.refine, span, batch_id, count=None)
        elif added.count():
            new = added.rows(rows.sparkSession)
            self._refine(new, self.refine, span, batch_id, count=added.count())

    def _refine(
        self, rows: DataFrame, spec: RefineSpec, span: Span, batch_id: int, count: int | None
    ) -> None:
        judged = refine(rows, spec)
        accepted = self._append(silver_rows(judged, spec), self.tables.silver, batch_id)
        if accepted is None:
            self._append(self._left_over(rows, spec, span), self.tables.quarantine, batch_id)
        elif accepted.count() != count:
            self._append(quarantine_rows(judged, spec), self.tables.quarantine, batch_id)

    def _left_over(self, rows: DataFrame, spec: RefineSpec, span: Span) -> DataFrame:
        """What silver did not take before a crash, whatever the rules say today."""
        silver = read_span(rows.sparkSession, self.tables.silver, span).select(*COORDINATES)
        left = rows.join(silver, [*COORDINATES], "left_anti")
        return refused_rows(refine(left, spec), spec)

    def _append(self, rows: DataFrame, table: str, batch_id: int) -> Appended | None:
        return append_once(rows, table, self.checkpoint.query_id(), batch_id)

    def _span(self, batch_id: int) -> Span:
        begin, end = self.checkpoint.offsets(batch_id - 1), self.checkpoint.offsets(batch_id)
        return Span(self.site, begin, end)


def read_span(spark: SparkSession, table: str, span: Span) -> DataFrame:
    return spark.read.format("delta").load(table).where(in_ranges(span.ranges()))


def _file_count(span: Span) -> int:
    rows = span.rows()
    return _CORES if rows is None or rows > _ROWS_WORTH_A_FILE else 1


@dataclass(frozen=True)
class Appended:
    """What a batch added to a table."""

    java: JavaObject

    def count(self) -> int:
        return int(self.java.count())

    def rows(self, spark: SparkSession) -> DataFrame:
        """Read from the new files alone."""
        return DataFrame(self.java.rows(), spark)


def append_once(rows: DataFrame, table: str, writer: str, batch_id: int) -> Appended | None:
    """None where the table holds this writer's batch already; see jvm/.../AppendOnce.java."""
    append = jvm(rows.sparkSession).millrace.delta.AppendOnce.append
    added = append(java_rows(rows), table, writer, batch_id)
    return Appended(added) if added else None
