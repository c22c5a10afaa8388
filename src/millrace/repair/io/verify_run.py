"""A proof that nothing is missing, or what is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime

from millrace.base.instants import first_kept_day, latest_of
from millrace.platform.core.platform import Platform
from millrace.repair.core.verify_spec import ContinuityResult, ContinuitySpec
from millrace.tasks.io.run import new_task_folder, run_task
from millrace.tasks.io.task_pipelines import find_pipeline, plan_job


def plan_verify(layout: Platform, name: str, since: date | None, now: datetime) -> ContinuitySpec:
    pipeline = find_pipeline(layout, name)
    job, keep = plan_job(layout, pipeline), pipeline.keep
    return ContinuitySpec(
        pipeline=name,
        engine=job.engine,
        tables=job.tables,
        folder=new_task_folder(layout, name, "verify"),
        inputs=job.inputs,
        is_refined=job.refine is not None,
        bronze_from=latest_of(since, first_kept_day(keep.bronze, now)),
        refined_from=latest_of(*(first_kept_day(k, now) for k in (keep.silver, keep.quarantine))),
    )


def verify(
    layout: Platform, task: ContinuitySpec, on_progress: Callable[[str], None]
) -> ContinuityResult:
    return run_task(layout, "spark_jobs.repair.continuity", task, ContinuityResult, on_progress)
