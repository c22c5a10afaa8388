"""The sink: one batch into bronze, silver and quarantine, once.

The batch is read and judged once and written into the files of all three; then the tables are told
of them, bronze first. Each remembers the last batch it took, so a batch that is repeated after a
crash goes on where it was interrupted, with the rows that bronze has.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame

from millrace.core.engine import Tables
from millrace.core.one_batch import carry
from millrace.core.refine import RefineSpec
from millrace.core.sharing import task_count
from millrace.core.span import Span
from millrace.core.store import Bucket
from millrace.core.tally import OLDEST_MS, Tally
from millrace.state.checkpoint import Checkpoint
from millrace.state.generations import latest
from millrace.state.twin_files import TwinMemory
from spark_jobs.append import Batch, while_tables_change
from spark_jobs.site_batch import RawBatch, RefinedBatch


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
    # Of the job, which share its cores.
    sites: int = 1
    # By Delta's own writer alone, table after table, each from the rows that bronze has by then.
    by_delta: bool = False

    def __call__(self, records: DataFrame, batch_id: int) -> None:
        # Each site has its turn, however much waits at another; Spark asks the thread for its pool.
        records.sparkSession.sparkContext.setLocalProperty("spark.scheduler.pool", self.site)
        while_tables_change(lambda: self._once(records, batch_id))

    def _once(self, records: DataFrame, batch_id: int) -> None:
        self.fence.check()
        batch = Batch(self.checkpoint.query_id(), batch_id)
        span = self._span(batch_id)
        slots = records.sparkSession.sparkContext.defaultParallelism
        tasks = task_count(span.rows(), len(span.ranges()), slots, self.sites)
        raw = (records, tasks, span, batch, self.tables, self.by_delta)
        if self.refine:
            work = RefinedBatch(*raw, self.refine, self.twins, self.tell)
            carry(work, apart=self.by_delta)
        else:
            RawBatch(*raw).append_raw()

    def tell(self, found: dict[str, int]) -> None:
        """What was found in a batch that is in all tables."""
        oldest_ms = found.pop(OLDEST_MS, None)
        self.tally.add(found)
        if oldest_ms is not None:
            self.tally.on_readable(time.time() - oldest_ms / 1000)

    def _span(self, batch_id: int) -> Span:
        begin, end = self.checkpoint.offsets(batch_id - 1), self.checkpoint.offsets(batch_id)
        return Span(self.site, begin, end)
