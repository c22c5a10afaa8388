"""The batch check: the rows of a span of commits, judged by Great Expectations.

python -m spark_jobs.quality.quality TASK.json
"""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime

from delta.tables import DeltaTable
from great_expectations.core import ExpectationValidationResult
from pyspark.sql import DataFrame, SparkSession

from millrace.base.errors import MillraceError
from millrace.lake.core.silver import COORDINATES
from millrace.quality.core.commit_span import CommitSpan, LogHistory, plan_span
from millrace.quality.core.quality_page import render
from millrace.quality.core.quality_task import QualityResult, QualitySpec
from millrace.quality.core.verdict import ExpectationOutcome, outcome_of
from millrace.storage.io.files import write_atomic
from spark_jobs.engine.java import delta_log, jvm
from spark_jobs.engine.task_main import run_task, say
from spark_jobs.quality.suite_run import SUMMARY, read_suite, validate


def check_quality(spark: SparkSession, task: QualitySpec) -> QualityResult:
    started = time.monotonic()
    history = read_history(spark, task.tables.silver)
    span = plan_span(task, history)
    rows = read_span(spark, task, span)
    count = 0 if span.is_empty else rows.count()
    say(f"{count} new rows in versions {span.first or 0} to {span.last}")
    result = QualityResult(
        pipeline=task.pipeline,
        suite=task.suite.stem,
        table=task.tables.silver,
        table_id=history.table_id,
        from_version=span.first,
        to_version=span.last,
        note=span.note,
        rows=count,
        outcomes=judge(rows, task) if count else (),
        fail_on=task.fail_on,
        checked_at=datetime.now(UTC),
        seconds=round(time.monotonic() - started, 1),
        page=task.page_file,
    )
    write_atomic(task.page_file, render(result))
    return result


def read_history(spark: SparkSession, location: str) -> LogHistory:
    if not DeltaTable.isDeltaTable(spark, location):
        raise MillraceError(f"there is no silver table at {location} yet; its job makes it")
    # `DESCRIBE HISTORY` would read every entry of the log to know its ends.
    log, delta = delta_log(spark, location), jvm(spark).org.apache.spark.sql.delta
    return LogHistory(
        table_id=log.unsafeVolatileTableId(),
        earliest=delta.DeltaHistoryManager.getEarliestDeltaFile(log),
        latest=DeltaTable.forPath(spark, location).history(1).first().version,
    )


def read_span(spark: SparkSession, task: QualitySpec, span: CommitSpan) -> DataFrame:
    """Compacted files hold no new rows, and Delta's change feed knows it."""
    reader = spark.read.format("delta")
    if span.first is None:
        rows = reader.option("versionAsOf", span.last).load(task.tables.silver)
    elif span.is_empty:
        rows = reader.load(task.tables.silver).limit(0)
    else:
        changes = reader.option("readChangeFeed", "true")
        changes = changes.option("startingVersion", span.first).option("endingVersion", span.last)
        rows = changes.load(task.tables.silver).where("_change_type = 'insert'")
    return rows.select(*task.columns)


def judge(rows: DataFrame, task: QualitySpec) -> tuple[ExpectationOutcome, ...]:
    suite = read_suite(task.suite)
    say(f"judging {len(suite.expectations)} expectations of {suite.name}")
    samples = {**SUMMARY, "unexpected_index_column_names": list(COORDINATES)}
    found = validate(rows, suite, samples)
    return tuple(_outcome(one) for one in found.results)


def _outcome(one: ExpectationValidationResult) -> ExpectationOutcome:
    """Its own JSON would say null for NaN."""
    config = one.expectation_config.to_json_dict()
    return outcome_of(config, one.success, one.result, one.exception_info or {}, COORDINATES)


if __name__ == "__main__":
    sys.exit(run_task(QualitySpec, check_quality))
