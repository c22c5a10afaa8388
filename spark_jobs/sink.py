"""The sink: one batch into bronze, silver and quarantine, once.

The batch is read and judged once and written into the files of all three; then the tables are told
of them, bronze first. Each remembers the last batch it took, so a batch that is repeated after a
crash goes on where it was interrupted, with the rows that bronze has.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from millrace.core import bronze
from millrace.core.coordinates import in_ranges
from millrace.core.engine import Tables
from millrace.core.refine import RefineSpec
from millrace.core.silver import COORDINATES
from millrace.core.span import Span
from millrace.core.store import Bucket
from millrace.core.tally import Tally
from millrace.state.checkpoint import Checkpoint
from millrace.state.generations import latest
from spark_jobs.append import (
    Batch,
    Output,
    append_by_delta,
    append_once,
    holds,
    while_tables_change,
    write,
)
from spark_jobs.refine import (
    count_verdicts,
    outputs,
    refine,
    refused_rows,
    silver_rows,
    with_verdicts,
)
from spark_jobs.rows import bronze_rows
from spark_jobs.twins import TwinMemory, Twins, in_order, seen_in

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
    twins: TwinMemory
    tally: Tally = field(default_factory=Tally)
    # By Delta's own writer alone, table after table, each from the rows that bronze has by then.
    by_delta: bool = False

    def __call__(self, records: DataFrame, batch_id: int) -> None:
        while_tables_change(lambda: self._once(records, batch_id))

    def _once(self, records: DataFrame, batch_id: int) -> None:
        self.fence.check()
        batch = Batch(self.checkpoint.query_id(), batch_id)
        span = self._span(batch_id)
        if self.by_delta:
            rows = bronze_rows(records, self.site).coalesce(_file_count(span))
            append_by_delta(rows, self.tables.bronze, batch)
        elif not holds(records.sparkSession, self.tables.bronze, batch):
            self._write(bronze_rows(records, self.site), span, batch)
            return
        if self.refine:
            held = read_span(records.sparkSession, self.tables.bronze, span)
            self._go_on(held, self.refine, span, batch)

    def _write(self, rows: DataFrame, span: Span, batch: Batch) -> None:
        files = _file_count(span)
        if self.refine is None:
            names = [name for name, _ in bronze.COLUMNS]
            written = write(rows.coalesce(files), [Output(self.tables.bronze, names, names)])
            written.commit(self.tables.bronze, batch)
            return
        twins = Twins(rows.sparkSession, self.twins.before(batch.number, span))
        judged = with_verdicts(refine(twins.marked(rows), self.refine), self.refine)
        # Not sooner: it would part the compiled code in two, with a copy of each row between.
        written = write(judged.coalesce(files), outputs(self.tables, self.refine))
        written.commit(self.tables.bronze, batch)
        written.commit(self.tables.silver, batch)
        if written.rows(self.tables.quarantine):
            written.commit(self.tables.quarantine, batch)
        self.twins.keep(batch.number, twins.seen())
        self.tally.add(written.observed())

    def _go_on(self, held: DataFrame, spec: RefineSpec, span: Span, batch: Batch) -> None:
        rows, before = in_order(held), self.twins.before(batch.number, span)

        def marked() -> DataFrame:
            return Twins(rows.sparkSession, before).marked(rows)

        append = append_by_delta if self.by_delta else append_once
        append(silver_rows(refine(marked(), spec), spec), self.tables.silver, batch)
        append(self._left_over(marked(), spec, span), self.tables.quarantine, batch)
        self.twins.keep(batch.number, seen_in(rows, before))
        self.tally.add(count_verdicts(refine(marked(), spec), spec))

    def _left_over(self, marked: DataFrame, spec: RefineSpec, span: Span) -> DataFrame:
        """What silver did not take, whatever the rules say today."""
        silver = read_span(marked.sparkSession, self.tables.silver, span).select(*COORDINATES)
        left = marked.join(silver, [*COORDINATES], "left_anti")
        return refused_rows(refine(left, spec), spec)

    def _span(self, batch_id: int) -> Span:
        begin, end = self.checkpoint.offsets(batch_id - 1), self.checkpoint.offsets(batch_id)
        return Span(self.site, begin, end)


def read_span(spark: SparkSession, table: str, span: Span) -> DataFrame:
    return spark.read.format("delta").load(table).where(in_ranges(span.ranges()))


def _file_count(span: Span) -> int:
    rows = span.rows()
    return _CORES if rows is None or rows > _ROWS_WORTH_A_FILE else 1
