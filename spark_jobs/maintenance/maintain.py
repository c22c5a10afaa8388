"""The maintenance task: does what was planned, action by action.

python -m spark_jobs.maintenance.maintain TASK.json
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from millrace.lake.core.silver import COORDINATES
from millrace.maintenance.core.maintenance_plan import (
    Action,
    Bin,
    CheckpointAction,
    Compact,
    Expire,
    Vacuum,
)
from millrace.maintenance.core.maintenance_task import (
    DoneAction,
    Gain,
    MaintainResult,
    MaintainSpec,
)
from spark_jobs.engine.java import delta_log, java_session, jvm
from spark_jobs.engine.task_main import run_task, say

_GONE = -1
# Or Delta takes what is older than the table's own property says, whatever it is told.
_IGNORES_AGE = "spark.databricks.delta.vacuum.retentionWindowIgnore.enabled"
_CHANGED = "others changed these files meanwhile; the next run looks again"
_CONFLICTS = (
    "ConcurrentDeleteDeleteException",
    "ConcurrentDeleteReadException",
    "ConcurrentAppendException",
)


def maintain(spark: SparkSession, task: MaintainSpec) -> MaintainResult:
    done = []
    for plan in task.plans:
        table = Table(spark, plan.table)
        for action in plan.actions:
            say(f"{plan.layer}: {action.kind}: {action.why}")
            started = time.monotonic()
            gain = table.apply(action)
            seconds = round(time.monotonic() - started, 1)
            done.append(DoneAction(layer=plan.layer, action=action, gain=gain, seconds=seconds))
    return MaintainResult(done=tuple(done))


@dataclass(frozen=True)
class Table:
    spark: SparkSession
    path: str

    def apply(self, action: Action) -> Gain:
        """Nothing is lost where somebody else was faster: the next plan sees it."""
        try:
            return self._apply(action)
        except (Py4JJavaError, PySparkException) as error:
            if not any(conflict in str(error) for conflict in _CONFLICTS):
                raise
            return Gain(left=_CHANGED)

    def _apply(self, action: Action) -> Gain:
        match action:
            case Expire():
                return self._expire(action)
            case Compact():
                return self._compact(action)
            case Vacuum():
                return self._vacuum(action.before)
            case CheckpointAction():
                return self._checkpoint()

    def _compact(self, action: Compact) -> Gain:
        """One commit for each new file, so that a kill loses one file's work at most."""
        total = Gain()
        for number, one in enumerate(action.bins, 1):
            total += self._make_one(action.day, one)
            say(f"  day {action.day}: file {number} of {len(action.bins)}")
        return total

    def _make_one(self, day: date, one: Bin) -> Gain:
        compact = jvm(self.spark).millrace.delta.Compact.run
        paths, order = list(one.paths), list(COORDINATES)
        size_bytes = compact(java_session(self.spark), self.path, day.isoformat(), paths, order)
        if size_bytes == _GONE:
            return Gain(left=_CHANGED)
        return Gain(
            files_before=len(one.paths),
            files_after=1,
            bytes_before=one.size_bytes,
            bytes_after=size_bytes,
        )

    def _expire(self, action: Expire) -> Gain:
        """Rows that came into these days since the plan are younger than it knew."""
        days = ", ".join(f"DATE'{day}'" for day in action.days)
        rows = self.spark.read.format("delta").load(self.path)
        if len(rows.where(f"day IN ({days})").inputFiles()) != action.files:
            return Gain(left=_CHANGED)
        version = self._version()
        self.spark.sql(f"DELETE FROM delta.`{self.path}` WHERE day IN ({days})")  # noqa: S608 - dates
        metrics = self._metrics("DELETE", version)
        return Gain(
            files_before=metrics.get("numRemovedFiles", 0),
            bytes_before=metrics.get("numRemovedBytes", 0),
        )

    def _vacuum(self, before: datetime) -> Gain:
        """Delta counts from this machine's clock."""
        self.spark.conf.set(_IGNORES_AGE, "false")
        hours = max(0, -((before - datetime.now(UTC)) // timedelta(hours=1)))
        version = self._version()
        self.spark.sql(f"VACUUM delta.`{self.path}` RETAIN {hours} HOURS")
        found = self._metrics("VACUUM START", version)
        return Gain(
            files_before=self._metrics("VACUUM END", version).get("numDeletedFiles", 0),
            bytes_before=found.get("sizeOfDataToDelete", 0),
        )

    def _checkpoint(self) -> Gain:
        """Delta removes expired entries of the log on the way."""
        delta_log(self.spark, self.path).checkpoint()
        return Gain()

    def _version(self) -> int:
        return int(self._history().first().version)

    def _metrics(self, operation: str, after_version: int) -> dict[str, int]:
        """Of our own commit among those that others made meanwhile."""
        found = self._history().where(f"operation = '{operation}' AND version > {after_version}")
        row = found.first()
        return {name: int(value) for name, value in row.operationMetrics.items()} if row else {}

    def _history(self) -> DataFrame:
        return DeltaTable.forPath(self.spark, self.path).history(100)


if __name__ == "__main__":
    sys.exit(run_task(MaintainSpec, maintain))
