"""The sink: one batch, one Delta commit, once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame

from millrace.core.lag import batch_rows
from millrace.state.checkpoint import Checkpoint
from millrace.state.generations import latest
from spark_jobs.rows import bronze_rows

_CORES = 2
_ROWS_WORTH_A_FILE = 50_000


class FencedError(Exception):
    """A newer generation owns the checkpoint."""


@dataclass(frozen=True)
class Fence:
    """Holds while this generation is the newest."""

    folder: Path
    generation: int

    def check(self) -> None:
        newest = latest(self.folder)
        if newest != self.generation:
            raise FencedError(f"generation {newest} took over from {self.generation}")


@dataclass(frozen=True)
class BronzeSink:
    """Called by Spark with each batch of one site."""

    site: str
    table: str
    checkpoint: Checkpoint
    fence: Fence

    def __call__(self, records: DataFrame, batch_id: int) -> None:
        self.fence.check()
        rows = bronze_rows(records, self.site).coalesce(self._file_count(batch_id))
        append_once(rows, self.table, self.checkpoint.query_id(), batch_id)

    def _file_count(self, batch_id: int) -> int:
        begin, end = self.checkpoint.offsets(batch_id - 1), self.checkpoint.offsets(batch_id)
        rows = batch_rows(begin, end)
        return _CORES if rows is None or rows > _ROWS_WORTH_A_FILE else 1


def append_once(rows: DataFrame, table: str, writer: str, batch_id: int) -> bool:
    """False where the table holds this writer's batch already; see jvm/.../AppendOnce.java."""
    jvm = rows.sparkSession.sparkContext._jvm  # noqa: SLF001 - PySpark's only door to Java
    append = jvm.millrace.delta.AppendOnce.append
    return bool(append(rows._jdf, table, writer, batch_id))  # noqa: SLF001 - as above
