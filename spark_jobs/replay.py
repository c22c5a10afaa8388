"""Adds what is missing of a span to bronze, and of that to silver and quarantine.

python -m spark_jobs.replay TASK.json
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from pyspark.sql import SparkSession

from millrace.core.coordinates import Part, in_ranges, on_days, since_day
from millrace.core.ranges import Range, Ranges, hull
from millrace.core.refine import RefineSpec
from millrace.core.replay import PartPlan, PartResult, ReplayResult, ReplaySpec, part_result
from millrace.core.silver import COORDINATES
from spark_jobs.fill import add_missing
from spark_jobs.kafka_span import read_spans
from spark_jobs.reading import read_table
from spark_jobs.refine import quarantine_rows, refine, silver_rows
from spark_jobs.refined_tables import ensure_refined_tables
from spark_jobs.replay_plan import plan_parts
from spark_jobs.replay_view import View, look
from spark_jobs.task import run_task, say


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
    if view.of("missing_bronze"):
        say("adding to bronze")
        added["bronze"] = _add_to_bronze(spark, task, view)
    if task.refine and view.of("missing_refined"):
        say("adding to silver and quarantine")
        added |= _add_refined(spark, task, task.refine, view)
    return added


def _add_to_bronze(spark: SparkSession, task: ReplaySpec, view: View) -> int:
    wanted = _hulls(view.of("missing_bronze"))
    rows = read_spans(spark, task.pipeline, task.inputs, wanted)
    if rows is None:
        return 0
    kept = rows.where(since_day(task.bronze_from))
    return add_missing(kept, task.tables.bronze, _where(view, wanted))


def _add_refined(
    spark: SparkSession, task: ReplaySpec, spec: RefineSpec, view: View
) -> dict[str, int]:
    wanted = _hulls(view.of("missing_refined"))
    missing = f"{in_ranges(wanted)} AND {on_days(view.days)} AND {since_day(task.refined_from)}"
    held = view.refined(spark, task).where(in_ranges(wanted))
    bronze = read_table(spark, task.tables.bronze).where(missing)
    rows = bronze.dropDuplicates([*COORDINATES]).join(held, [*COORDINATES], "left_anti")
    judged = refine(rows, spec)
    where = _where(view, wanted)
    return {
        "silver": add_missing(silver_rows(judged, spec), task.tables.silver, where),
        "quarantine": add_missing(quarantine_rows(judged, spec), task.tables.quarantine, where),
    }


def _where(view: View, wanted: Mapping[Part, Range]) -> str:
    return f"{on_days(view.days, 't.')} AND {in_ranges(wanted, 't.')}"


def _hulls(missing: Mapping[Part, Ranges]) -> dict[Part, Range]:
    return {part: hull(ranges) for part, ranges in missing.items()}


def main() -> int:
    return run_task(ReplaySpec, replay)


if __name__ == "__main__":
    sys.exit(main())
