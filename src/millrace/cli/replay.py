"""`millrace replay`: what is missing of a span comes into the tables."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

import typer

from millrace.cli.output import Json, print_json, print_line
from millrace.cli.pipelines import choose, find_pipeline, plan_job, show_progress
from millrace.core.instants import first_kept_day, latest_of, parse_instant
from millrace.core.job import JobSpec, SiteInput
from millrace.core.layout import Layout
from millrace.core.pipeline import PipelineSpec
from millrace.core.ranges import Ranges, count, show
from millrace.core.replay import (
    Asked,
    Origin,
    PartResult,
    ReplayResult,
    ReplaySpec,
    check_asked,
)
from millrace.settings import Settings

_INCOMPLETE = 1

Sites = Annotated[list[str] | None, typer.Option("--site", help="Only this site; may be repeated.")]
Topics = Annotated[
    list[str] | None, typer.Option("--topic", help="Only this topic; may be repeated.")
]
Partitions = Annotated[
    list[int] | None, typer.Option("--partition", min=0, help="Only this one; may be repeated.")
]


class Source(StrEnum):
    KAFKA = "kafka"
    BRONZE = "bronze"


def replay(
    name: Annotated[str, typer.Argument(metavar="PIPELINE", help="A pipeline's name.")],
    *,
    site: Sites = None,
    topic: Topics = None,
    partition: Partitions = None,
    since: Annotated[
        str | None, typer.Option("--from", help="ISO time, UTC unless it says otherwise.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--to", help="ISO time; what came at it is left out.")
    ] = None,
    first: Annotated[
        int | None, typer.Option("--from-offset", min=0, help="First offset; needs --partition.")
    ] = None,
    last: Annotated[
        int | None, typer.Option("--to-offset", min=0, help="Last offset, included.")
    ] = None,
    source: Annotated[
        Source, typer.Option(help="bronze: silver and quarantine are filled from it.")
    ] = Source.KAFKA,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what is missing; write nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Add what is missing of a span of Kafka, or of bronze, beside the running job.

    What is there is left alone, also in quarantine ('millrace backfill' judges again). Twice
    changes nothing. Offsets that the job has yet to write are left to it.

    Exit code 1 when the broker has deleted part of the span and bronze does not have it; the
    rest is done.

    Examples:

      millrace replay temperature --from 2026-11-18T08:00 --to 2026-11-18T09:30 --dry-run

      millrace replay temperature --site plant-a --partition 0 --from-offset 120 --to-offset 140

      millrace replay temperature --source bronze --from 2026-11-18
    """
    layout = Settings.from_env(os.environ).layout
    pipeline = find_pipeline(layout, name)
    asked = _asked(since, until, first, last)
    job = plan_job(layout, pipeline)
    inputs = choose_inputs(job, site or [], topic or [])
    check_asked(asked, len(inputs) == len(inputs[0].topics) == len(partition or []) == 1)
    task = _plan(layout, pipeline, job, inputs).model_copy(
        update={
            "asked": asked,
            "partitions": tuple(partition) if partition else None,
            "origin": source.value,
            "dry_run": dry_run,
        }
    )
    result = _run(layout, task)
    _show(result, task.origin, as_json=as_json)
    if not result.is_complete:
        raise typer.Exit(_INCOMPLETE)


def choose_inputs(job: JobSpec, sites: list[str], topics: list[str]) -> tuple[SiteInput, ...]:
    """The pipeline's sites and topics, or those of them that are named."""
    chosen = choose("site", sites, [site.site for site in job.inputs])
    named = choose("topic", topics, list(job.inputs[0].topics))
    kept = (site for site in job.inputs if site.site in chosen)
    return tuple(site.model_copy(update={"topics": named}) for site in kept)


def _asked(since: str | None, until: str | None, first: int | None, last: int | None) -> Asked:
    return Asked(
        first=first,
        last=last,
        since=parse_instant("--from", since) if since else None,
        until=parse_instant("--to", until) if until else None,
    )


def _plan(
    layout: Layout, pipeline: PipelineSpec, job: JobSpec, inputs: tuple[SiteInput, ...]
) -> ReplaySpec:
    from millrace.local.tasks import new_task_folder

    keep, now = pipeline.keep, datetime.now(UTC)
    return ReplaySpec(
        pipeline=pipeline.name,
        engine=job.engine,
        tables=job.tables,
        folder=new_task_folder(layout, pipeline.name, "replay"),
        inputs=inputs,
        refine=job.refine,
        bronze_from=first_kept_day(keep.bronze, now),
        refined_from=latest_of(*(first_kept_day(k, now) for k in (keep.silver, keep.quarantine))),
    )


def _run(layout: Layout, task: ReplaySpec) -> ReplayResult:
    from millrace.local.tasks import run_task

    return run_task(layout, "spark_jobs.replay", task, ReplayResult, show_progress)


def _show(result: ReplayResult, origin: Origin, *, as_json: bool) -> None:
    if as_json:
        print_json({**result.model_dump(mode="json"), "complete": result.is_complete})
        return
    for part in result.parts:
        print_line(_part_line(part))
        for line in _details(part):
            print_line(f"  {line}")
    print_line(_summary(result, origin))


def _part_line(part: PartResult) -> str:
    span = f"{part.looked_at} {part.records} records" if part.looked_at else "nothing to look at"
    return f"{part.part}  {span}"


def _details(part: PartResult) -> Iterator[str]:
    yield from _listed("missing in bronze", part.missing_bronze)
    yield from _listed("missing in silver and quarantine", part.missing_refined)
    yield from _listed("gone: deleted by the broker, and not in bronze", part.gone)
    yield from _listed("left to the running job", part.left)


def _listed(what: str, ranges: Ranges) -> Iterator[str]:
    if ranges:
        yield f"{what}: {count(ranges)} {show(ranges)}"


def _summary(result: ReplayResult, origin: Origin) -> str:
    lost = "" if result.is_complete else "; INCOMPLETE: some offsets are gone"
    missing = result.missing("bronze") + result.missing("refined")
    if not missing:
        return f"nothing is missing{lost}"
    if result.dry_run:
        layers = {
            "bronze": result.missing("bronze") if origin == "kafka" else 0,
            "silver and quarantine": result.missing("refined"),
        }
        return f"would add {_counts(layers)}{lost}"
    return f"added {_counts(result.added)}{lost}"


def _counts(rows: dict[str, int]) -> str:
    return (
        ", ".join(f"{number} to {layer}" for layer, number in rows.items() if number) or "nothing"
    )
