"""The sink: one batch into bronze, silver and quarantine, once.

The batch is read and judged once and written into the files of all three; then the tables are told
of them, bronze first. Each remembers the last batch it took, so a batch that is repeated after a
crash goes on where it was interrupted, with the rows that bronze has.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from millrace.ingest.core.one_batch import carry
from millrace.ingest.core.record_span import Span
from millrace.ingest.core.sharing import task_count
from millrace.ingest.io.checkpoint import Checkpoint
from millrace.ingest.io.duplicate_files import TwinMemory
from millrace.lake.core.refine import RefineSpec
from millrace.lake.core.tally import OLDEST_MS, Tally
from millrace.settings.core.engine import Tables
from spark_jobs.engine.append import WrittenBatch, append_by_delta, append_once, while_tables_change
from spark_jobs.engine.fence import Fence
from spark_jobs.ingest.site_batch import RawBatch, RefinedBatch, read_span


class Topics(Protocol):
    """Which incarnations of a site's topics its query reads."""

    def ids_at(self, batch: int) -> dict[str, str]:
        """By topic; a batch is of one incarnation of each."""

    def check(self) -> None:
        """Raises where the broker has another one of some topic by now."""


@dataclass(frozen=True)
class BatchSink:
    """Called by Spark with each batch of one site."""

    site: str
    topics: Topics
    tables: Tables
    refine: RefineSpec | None
    checkpoint: Checkpoint
    fence: Fence
    twins: TwinMemory
    tally: Tally = field(default_factory=Tally)
    # Of the job, which share its cores.
    sites: int = 1
    # Goes with the writing of a batch of so many rows; None where nobody knows how many.
    measured: Callable[[int | None], AbstractContextManager[None]] = lambda _: nullcontext()
    # By Delta's own writer alone, table after table, each from the rows that bronze has by then.
    by_delta: bool = False

    def __call__(self, records: DataFrame, batch_id: int) -> None:
        # Each site has its turn, however much waits at another; Spark asks the thread for its pool.
        records.sparkSession.sparkContext.setLocalProperty("spark.scheduler.pool", self.site)
        while_tables_change(lambda: self._once(records, batch_id))

    def _once(self, records: DataFrame, batch_id: int) -> None:
        self.fence.check()
        batch, span = WrittenBatch(self.checkpoint.query_id(), batch_id), self._span(batch_id)
        with self.measured(span.rows()):
            self._carry(records, span, batch)

    def _carry(self, records: DataFrame, span: Span, batch: WrittenBatch) -> None:
        slots = records.sparkSession.sparkContext.defaultParallelism
        tasks = task_count(span.rows(), len(span.ranges()), slots, self.sites)
        raw = (records, tasks, span, batch, self.tables, self.by_delta, self.topics.check)
        if self.refine:
            work = RefinedBatch(*raw, self.refine, self.twins, self.tell)
            carry(work, apart=self.by_delta)
        else:
            RawBatch(*raw).append_raw()

    def settle(self, spark: SparkSession, batch_id: int) -> bool:
        """Whether bronze holds rows of a batch; then the other tables have theirs after this.

        A batch that it does not hold cannot be written any more, by whomever.
        """
        self.fence.check()
        batch, span = WrittenBatch(self.checkpoint.query_id(), batch_id), self._span(batch_id)
        nothing = spark.read.format("delta").load(self.tables.bronze).limit(0)
        append = append_by_delta if self.by_delta else append_once
        append(nothing, self.tables.bronze, batch)
        if read_span(spark, self.tables.bronze, span).isEmpty():
            return False
        self._carry(nothing, span, batch)
        return True

    def skip(self, batch_id: int) -> None:
        """A batch without a row leaves what was seen before it."""
        if self.refine:
            begin = self.checkpoint.offsets(batch_id - 1)
            nothing = Span(self.site, self.topics.ids_at(batch_id - 1), begin, begin)
            self.twins.keep(batch_id, self.twins.before(batch_id, nothing))

    def tell(self, found: dict[str, int]) -> None:
        """What was found in a batch that is in all tables."""
        oldest_ms = found.pop(OLDEST_MS, None)
        self.tally.add(found)
        if oldest_ms is not None:
            self.tally.on_readable(time.time() - oldest_ms / 1000)

    def _span(self, batch_id: int) -> Span:
        begin, end = self.checkpoint.offsets(batch_id - 1), self.checkpoint.offsets(batch_id)
        return Span(self.site, self.topics.ids_at(batch_id), begin, end)
