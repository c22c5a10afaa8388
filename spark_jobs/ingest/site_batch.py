"""One batch of a site as rows and tables: what ingest/core/one_batch.py decides is done here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from millrace.ingest.core.duplicates import Seen
from millrace.ingest.core.one_batch import Layer
from millrace.ingest.core.record_span import Span
from millrace.ingest.io.duplicate_files import TwinMemory
from millrace.kafka.core.coordinates import in_ranges
from millrace.lake.core import bronze
from millrace.lake.core.refine import RefineSpec
from millrace.lake.core.silver import COORDINATES
from millrace.settings.core.engine import Tables
from spark_jobs.engine.append import (
    Output,
    Written,
    WrittenBatch,
    append_by_delta,
    append_once,
    holds,
    write,
)
from spark_jobs.kafka.bronze_rows import bronze_rows
from spark_jobs.refine.duplicate_rows import Twins, in_one_task, seen_in
from spark_jobs.refine.refine_rows import (
    count_verdicts,
    outputs,
    refine,
    refused_rows,
    silver_rows,
    with_verdicts,
)

Tell = Callable[[dict[str, int]], None]


@dataclass(frozen=True)
class RawBatch:
    """Into bronze alone."""

    records: DataFrame
    tasks: int
    span: Span
    batch: WrittenBatch
    tables: Tables
    by_delta: bool
    # Called when all records are read; raises where they may be of other topics.
    check: Callable[[], None]

    @property
    def spark(self) -> SparkSession:
        return self.records.sparkSession

    def rows(self) -> DataFrame:
        return bronze_rows(self.records, self.span.site, self.span.ids)

    def is_in_bronze(self) -> bool:
        return holds(self.spark, self.tables.bronze, self.batch)

    def append_raw(self) -> None:
        if self.by_delta:
            self._append_raw_by_delta()
        elif not self.is_in_bronze():
            names = [name for name, _ in bronze.COLUMNS]
            rows = self.rows().coalesce(self.tasks)
            written = write(rows, [Output(self.tables.bronze, names, names)])
            self.check()
            written.commit(self.tables.bronze, self.batch)

    def _append_raw_by_delta(self) -> None:
        """Delta writes and commits in one, so all rows are read and looked at before."""
        if not read_span(self.spark, self.tables.bronze, self.span).isEmpty():
            return
        rows = self.rows().coalesce(self.tasks).persist(StorageLevel.DISK_ONLY)
        try:
            rows.count()
            self.check()
            append_by_delta(rows, self.tables.bronze, self.batch)
        finally:
            rows.unpersist()


@dataclass(frozen=True)
class RefinedBatch(RawBatch):
    """Into all three."""

    spec: RefineSpec
    memory: TwinMemory
    tell: Tell

    def before(self) -> Seen:
        return self.memory.before(self.batch.number, self.span)

    def write(self, before: Seen, *, in_order: bool = False) -> BatchFiles:
        twins = Twins(self.spark, before)
        rows = in_one_task(self.rows()) if in_order else self.rows()
        judged = with_verdicts(refine(twins.marked(rows), self.spec), self.spec)
        # Not sooner: it would part the compiled code in two, with a copy of each row between.
        written = write(judged.coalesce(self.tasks), outputs(self.tables, self.spec))
        return BatchFiles(written, twins, self)

    def append_accepted(self, before: Seen) -> None:
        self._append(silver_rows(self._judged(before), self.spec), self.tables.silver)

    def append_left_over(self, before: Seen) -> None:
        """Whatever the rules say today."""
        marked = self._marked(before)
        silver = read_span(self.spark, self.tables.silver, self.span).select(*COORDINATES)
        left = marked.join(silver, [*COORDINATES], "left_anti")
        self._append(refused_rows(refine(left, self.spec), self.spec), self.tables.quarantine)

    def seen_in_bronze(self, before: Seen) -> Seen:
        return seen_in(self._held(), before)

    def keep(self, seen: Seen) -> None:
        self.memory.keep(self.batch.number, seen)

    def is_readable(self, before: Seen) -> None:
        self.tell(count_verdicts(self._judged(before), self.spec))

    def _append(self, rows: DataFrame, table: str) -> None:
        append = append_by_delta if self.by_delta else append_once
        append(rows, table, self.batch)

    def _judged(self, before: Seen) -> DataFrame:
        return refine(self._marked(before), self.spec)

    def _marked(self, before: Seen) -> DataFrame:
        return Twins(self.spark, before).marked(in_one_task(self._held()))

    def _held(self) -> DataFrame:
        return read_span(self.spark, self.tables.bronze, self.span)


@dataclass(frozen=True)
class BatchFiles:
    written: Written
    twins: Twins
    of: RefinedBatch

    def are_at_odds(self) -> bool:
        return self.twins.are_at_odds()

    def has_rows(self, layer: Layer) -> bool:
        return self.written.rows(self._table(layer)) > 0

    def commit(self, layer: Layer) -> None:
        if layer is Layer.BRONZE:
            # An id never comes again: what was the same at the start was the same all the time.
            self.of.check()
        self.written.commit(self._table(layer), self.of.batch)

    def seen(self) -> Seen:
        return self.twins.seen()

    def are_readable(self) -> None:
        self.of.tell(self.written.observed())

    def _table(self, layer: Layer) -> str:
        table: str = getattr(self.of.tables, layer)
        return table


def read_span(spark: SparkSession, table: str, span: Span) -> DataFrame:
    return spark.read.format("delta").load(table).where(in_ranges(span.ranges()))
