"""What of a span is where: at the broker, in bronze, in silver or quarantine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from millrace.base.ranges import Range, Ranges, hull
from millrace.kafka.core.coordinates import Part, in_ranges, on_days, since_day, since_time
from millrace.lake.core.silver import COORDINATES
from millrace.repair.core.replay_spec import PartPlan, ReplaySpec
from spark_jobs.engine.reading import read_table
from spark_jobs.engine.task_main import say
from spark_jobs.kafka.far_time_errors import far_times_named
from spark_jobs.kafka.kafka_span import read_spans
from spark_jobs.repair.coverage import is_of, ranges_of, words_of

_ADDRESS = [*COORDINATES, "day"]


_MASKS = {
    "records": "offered | bronze",
    "in_bronze": "bronze",
    "missing_bronze": "offered & ~bronze",
    "missing_refined": "due & ~refined",
}


@dataclass(frozen=True)
class View:
    # Of all the records of the span: where else they would be, nobody has to look.
    days: frozenset[date]
    # By the names of `_MASKS`.
    found: Mapping[str, Mapping[Part, Ranges]]

    def of(self, what: str) -> Mapping[Part, Ranges]:
        return self.found.get(what, {})


def refined_rows(spark: SparkSession, task: ReplaySpec, days: frozenset[date]) -> DataFrame:
    tables = (task.tables.silver, task.tables.quarantine)
    silver, quarantine = (read_table(spark, table).where(on_days(days)) for table in tables)
    return silver.select(*_ADDRESS).unionAll(quarantine.select(*_ADDRESS))


def look(spark: SparkSession, task: ReplaySpec, plans: Mapping[Part, PartPlan]) -> View:
    windows = {part: hull(plan.window) for part, plan in plans.items() if plan.window}
    wanted = {part: plan.to_read[0] for part, plan in plans.items() if plan.to_read}
    with far_times_named(task.pipeline, task.inputs, wanted):
        return _look(spark, task, windows, wanted)


def _look(
    spark: SparkSession,
    task: ReplaySpec,
    windows: Mapping[Part, Range],
    wanted: Mapping[Part, Range],
) -> View:
    bronze = read_table(spark, task.tables.bronze).where(in_ranges(windows)).select(*_ADDRESS)
    offered = _offered(spark, task, wanted)
    span = bronze.unionAll(offered) if offered else bronze
    days = frozenset(row.day for row in span.select("day").distinct().collect())
    say(f"{len(days)} days to look at")
    held = {"bronze": bronze.where(on_days(days))}
    parts = {"due": ~is_of("refined") & f.expr(since_day(task.refined_from))}
    if offered:
        held["offered"] = offered
    else:
        parts["offered"] = is_of("bronze")
    if task.refine:
        held["refined"] = refined_rows(spark, task, days).where(in_ranges(windows))
    masks = {name: mask for name, mask in _MASKS.items() if task.refine or "refined" not in mask}
    return View(days, ranges_of(words_of(held, parts, keep=["day"]), masks))


def _offered(
    spark: SparkSession, task: ReplaySpec, wanted: Mapping[Part, Range]
) -> DataFrame | None:
    """The addresses of what the brokers have of it; None where they are not asked."""
    if task.origin == "bronze":
        return None
    say(f"{sum(one.count for one in wanted.values())} offsets to read at the broker")
    rows = read_spans(spark, task.pipeline, task.inputs, wanted)
    if rows is None:
        return None
    # The broker sends whole records, whatever is asked of them: once is enough.
    return rows.where(since_time(task.bronze_from)).select(*_ADDRESS).persist()
