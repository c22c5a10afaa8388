"""Makes silver and quarantine of some days anew from bronze, beside the stream.

python -m spark_jobs.repair.backfill TASK.json
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import timedelta

from pyspark.sql import DataFrame, SparkSession

from millrace.base.errors import MillraceError
from millrace.base.ranges import show
from millrace.kafka.core.coordinates import between_days
from millrace.repair.core.backfill_spec import BackfillResult, BackfillSpec, DayRows, settled_rows
from spark_jobs.engine.reading import read_table
from spark_jobs.engine.task_main import run_task, say
from spark_jobs.refine.duplicate_rows import marked_among
from spark_jobs.refine.refine_rows import quarantine_rows, refine, silver_rows
from spark_jobs.refine.refined_tables import ensure_refined_tables
from spark_jobs.repair.agreement import Found, compare, rows_by_day
from spark_jobs.repair.repair_commits import next_number, replace, until_first
from spark_jobs.repair.stream_ends import committed_ends


class LostBronzeError(MillraceError):
    def __init__(self, found: Found) -> None:
        super().__init__(
            f"bronze has no rows any more for {_where(found, 'orphaned')}, which silver or"
            " quarantine have: a backfill would delete these; replay them from Kafka first"
        )


def backfill(spark: SparkSession, task: BackfillSpec) -> BackfillResult:
    if not task.dry_run:
        ensure_refined_tables(spark, task.tables, task.refine)
    ends = {site: committed_ends(task, where) for site, where in task.checkpoints.items()}
    settled = settled_rows(task.first, task.last, ends)
    before = _look(spark, task, settled)
    compared = compare(before)
    _refuse_to_lose(compared.found)
    if task.dry_run:
        return BackfillResult(dry_run=True, before=compared.days, after=_foreseen(before, task))
    until_first(lambda: _replace(spark, task, settled))
    after = rows_by_day(_look(spark, task, settled))
    return BackfillResult(dry_run=False, before=compared.days, after=after)


def _replace(spark: SparkSession, task: BackfillSpec, settled: str) -> None:
    """One commit for each table. After a crash between them a second run puts it right."""
    targets = ((task.tables.silver, silver_rows), (task.tables.quarantine, quarantine_rows))
    numbers = {table: next_number(spark, table) for table, _ in targets}
    judged = _judged(read_table(spark, task.tables.bronze).where(settled), task)
    days = between_days(task.first, task.last)
    for table, rows_of in targets:
        say(f"replacing {task.first} to {task.last} in {table}")
        replace(rows_of(judged, task.refine), table, days, settled, numbers[table])


def _judged(rows: DataFrame, task: BackfillSpec) -> DataFrame:
    around = between_days(task.first - timedelta(days=1), task.last)
    bronze = read_table(rows.sparkSession, task.tables.bronze).where(around)
    return refine(marked_among(rows, bronze), task.refine)


def _look(spark: SparkSession, task: BackfillSpec, settled: str) -> dict[str, DataFrame]:
    return {layer: read_table(spark, location).where(settled) for layer, location in task.tables}


def _refuse_to_lose(found: Found) -> None:
    if found["orphaned"]:
        raise LostBronzeError(found)


def _where(found: Found, what: str) -> str:
    return "; ".join(f"{part} {show(ranges)}" for part, ranges in sorted(found[what].items()))


def _foreseen(tables: Mapping[str, DataFrame], task: BackfillSpec) -> tuple[DayRows, ...]:
    judged = _judged(tables["bronze"], task)
    silver, quarantine = silver_rows(judged, task.refine), quarantine_rows(judged, task.refine)
    return rows_by_day({"bronze": tables["bronze"], "silver": silver, "quarantine": quarantine})


if __name__ == "__main__":
    sys.exit(run_task(BackfillSpec, backfill))
