"""Adds what is missing of a span to bronze, and of that to silver and quarantine.

python -m spark_jobs.repair.replay TASK.json
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from millrace.base.ranges import Range, Ranges, hull
from millrace.kafka.core.coordinates import (
    Part,
    in_ranges,
    on_days,
    since_day,
    since_time,
    with_days_before,
)
from millrace.lake.core.refine import RefineSpec
from millrace.lake.core.silver import COORDINATES
from millrace.repair.core.replay_spec import (
    PartPlan,
    PartResult,
    ReplayResult,
    ReplaySpec,
    part_result,
)
from spark_jobs.engine.reading import read_table
from spark_jobs.engine.task_main import run_task, say
from spark_jobs.kafka.far_time_errors import far_times_named
from spark_jobs.kafka.kafka_span import read_spans, refuse_other_topics
from spark_jobs.refine.duplicate_rows import marked_among
from spark_jobs.refine.refine_rows import quarantine_rows, refine, silver_rows
from spark_jobs.refine.refined_tables import ensure_refined_tables
from spark_jobs.repair.repair_commits import add, next_number, until_first
from spark_jobs.repair.replay_plan import plan_parts
from spark_jobs.repair.replay_view import View, look, refined_rows


def replay(spark: SparkSession, task: ReplaySpec) -> ReplayResult:
    if task.refine and not task.dry_run:
        ensure_refined_tables(spark, task.tables, task.refine)
    plans = plan_parts(spark, task)
    view = look(spark, task, plans)
    added = {} if task.dry_run else _add(spark, task, view)
    return ReplayResult(dry_run=task.dry_run, parts=_parts(plans, view), added=added)


def _parts(plans: Mapping[Part, PartPlan], view: View) -> tuple[PartResult, ...]:
    return tuple(
        part_result(part, plan, {name: of_all.get(part, ()) for name, of_all in view.found.items()})
        for part, plan in sorted(plans.items())
    )


def _add(spark: SparkSession, task: ReplaySpec, view: View) -> dict[str, int]:
    """Nothing is written where nothing is missing."""
    added = {}
    missing_bronze, missing_refined = view.of("missing_bronze"), view.of("missing_refined")
    if missing_bronze:
        say("adding to bronze")
        wanted = _hulls(missing_bronze)
        added["bronze"] = until_first(lambda: _add_to_bronze(spark, task, view, wanted))
    if task.refine and missing_refined:
        say("adding to silver and quarantine")
        spec, due = task.refine, _hulls(missing_refined)
        added |= until_first(lambda: _add_refined(spark, task, spec, view, due))
    return added


def _add_to_bronze(
    spark: SparkSession, task: ReplaySpec, view: View, wanted: Mapping[Part, Range]
) -> int:
    table = task.tables.bronze
    number = next_number(spark, table)
    rows = read_spans(spark, task.pipeline, task.inputs, wanted)
    if rows is None:
        return 0
    held = read_table(spark, table).where(_where(view, wanted))
    missing = _not_in(rows.where(since_time(task.bronze_from)), held)
    with far_times_named(task.pipeline, task.inputs, wanted):
        return add(missing, table, number, lambda: refuse_other_topics(task.inputs, wanted))


def _add_refined(
    spark: SparkSession,
    task: ReplaySpec,
    spec: RefineSpec,
    view: View,
    wanted: Mapping[Part, Range],
) -> dict[str, int]:
    silver, quarantine = task.tables.silver, task.tables.quarantine
    numbers = {table: next_number(spark, table) for table in (silver, quarantine)}
    where = _where(view, wanted)
    bronze = read_table(spark, task.tables.bronze)
    due = bronze.where(where).where(since_day(task.refined_from))
    held = refined_rows(spark, task, view.days).where(in_ranges(wanted))
    missing = _not_in(due.dropDuplicates([*COORDINATES]), held)
    judged = refine(marked_among(missing, bronze.where(on_days(with_days_before(view.days)))), spec)
    return {
        "silver": add(silver_rows(judged, spec), silver, numbers[silver]),
        "quarantine": add(quarantine_rows(judged, spec), quarantine, numbers[quarantine]),
    }


def _not_in(rows: DataFrame, held: DataFrame) -> DataFrame:
    there = held.select(*COORDINATES)
    return rows.join(there, [*COORDINATES], "left_anti").select(*rows.columns)


def _where(view: View, wanted: Mapping[Part, Range]) -> str:
    return f"{on_days(view.days)} AND {in_ranges(wanted)}"


def _hulls(missing: Mapping[Part, Ranges]) -> dict[Part, Range]:
    return {part: hull(ranges) for part, ranges in missing.items()}


if __name__ == "__main__":
    sys.exit(run_task(ReplaySpec, replay))
