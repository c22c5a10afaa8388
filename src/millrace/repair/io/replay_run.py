"""A replay: what was asked for, made into a task, and run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from millrace.base.instants import first_kept_day, latest_of
from millrace.ingest.core.ingest_spec import IngestSpec, SiteInput
from millrace.platform.core.platform import Platform
from millrace.repair.core.replay_spec import (
    Origin,
    ReplayRequest,
    ReplayResult,
    ReplaySpec,
    check_asked,
)
from millrace.tasks.io.run import new_task_folder, run_task
from millrace.tasks.io.task_pipelines import choose, find_pipeline, plan_job


def plan_replay(
    layout: Platform,
    name: str,
    asked: ReplayRequest,
    origin: Origin,
    sites: Sequence[str] = (),
    topics: Sequence[str] = (),
    partitions: Sequence[int] = (),
) -> ReplaySpec:
    """Nothing named means all of it."""
    pipeline = find_pipeline(layout, name)
    job = plan_job(layout, pipeline)
    inputs = choose_inputs(job, sites, topics)
    check_asked(asked, len(inputs) == len(inputs[0].topics) == len(partitions) == 1)
    keep, now = pipeline.keep, datetime.now(UTC)
    return ReplaySpec(
        pipeline=pipeline.name,
        engine=job.engine,
        tables=job.tables,
        folder=new_task_folder(layout, pipeline.name, "replay"),
        inputs=inputs,
        refine=job.refine,
        asked=asked,
        partitions=tuple(partitions) or None,
        origin=origin,
        bronze_from=first_kept_day(keep.bronze, now),
        refined_from=latest_of(*(first_kept_day(k, now) for k in (keep.silver, keep.quarantine))),
    )


def replay(layout: Platform, task: ReplaySpec, on_progress: Callable[[str], None]) -> ReplayResult:
    return run_task(layout, "spark_jobs.repair.replay", task, ReplayResult, on_progress)


def choose_inputs(
    job: IngestSpec, sites: Sequence[str], topics: Sequence[str]
) -> tuple[SiteInput, ...]:
    """The pipeline's sites and topics, or those of them that are named."""
    chosen = choose("site", sites, [site.site for site in job.inputs])
    kept = [site for site in job.inputs if site.site in chosen]
    # At a central cluster each site's have names of their own.
    known = dict.fromkeys(topic for site in kept for topic in site.topics)
    named = choose("topic", topics, list(known))
    narrowed = (
        site.model_copy(update={"topics": tuple(one for one in named if one in site.topics)})
        for site in kept
    )
    return tuple(site for site in narrowed if site.topics)
