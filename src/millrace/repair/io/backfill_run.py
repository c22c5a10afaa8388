"""A backfill: some days of silver and quarantine, made anew."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime

from millrace.base.errors import MillraceError
from millrace.base.instants import first_kept_day, latest_of
from millrace.ingest.core.ingest_spec import IngestSpec
from millrace.jobs.io.mailbox import Mailbox
from millrace.platform.core.platform import Platform
from millrace.repair.core.backfill_spec import BackfillResult, BackfillSpec, check_days
from millrace.tasks.io.run import new_task_folder, run_task
from millrace.tasks.io.task_pipelines import find_pipeline, plan_job


def plan_backfill(
    layout: Platform, name: str, first: date, last: date, now: datetime, *, dry_run: bool
) -> BackfillSpec:
    pipeline = find_pipeline(layout, name)
    job = plan_job(layout, pipeline)
    if job.refine is None:
        raise MillraceError(f"pipeline {name!r} has no columns, so no silver table to make anew")
    keeps = (pipeline.keep.bronze, pipeline.keep.silver, pipeline.keep.quarantine)
    check_days(first, last, latest_of(*(first_kept_day(k, now) for k in keeps)), now.date())
    return BackfillSpec(
        pipeline=name,
        engine=job.engine,
        tables=job.tables,
        folder=new_task_folder(layout, name, "backfill"),
        first=first,
        last=last,
        checkpoints=_checkpoints(job),
        refine=job.refine,
        dry_run=dry_run,
    )


def _checkpoints(job: IngestSpec) -> dict[str, str]:
    """A site that has left the file may still be read by the job that was started last."""
    started = Mailbox(job.mailbox, job.engine.bucket).read_job(IngestSpec)
    inputs = (*(started.inputs if started else ()), *job.inputs)
    return {site.site: site.checkpoint for site in inputs}


def backfill(
    layout: Platform, task: BackfillSpec, on_progress: Callable[[str], None]
) -> BackfillResult:
    return run_task(layout, "spark_jobs.repair.backfill", task, BackfillResult, on_progress)
