"""`millrace backfill`: silver and quarantine of some days, made anew from bronze."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Annotated

import typer

from millrace.cli.output import Json, print_json, print_line
from millrace.cli.pipelines import find_pipeline, plan_job, show_progress
from millrace.core.backfill import BackfillResult, BackfillSpec, DayRows, check_days
from millrace.core.errors import MillraceError
from millrace.core.instants import first_kept_day, latest_of, parse_day
from millrace.core.job import JobSpec
from millrace.core.layout import Layout
from millrace.settings import Settings
from millrace.state.mailbox import Mailbox


def backfill(
    name: Annotated[str, typer.Argument(metavar="PIPELINE", help="A pipeline's name.")],
    *,
    first: Annotated[str, typer.Option("--from", help="First day (UTC), such as 2026-11-17.")],
    last: Annotated[
        str | None, typer.Option("--to", help="Last day, included; else the first alone.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be where; write nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Make silver and quarantine of some days anew from bronze, as the files are today.

    For a day on which a rule or a column was wrong: every row is judged again. Each table is
    replaced in one commit; between the two commits a row can be in both or in neither. The
    running job goes on; what it has yet to finish is left to it.

    Examples:

      millrace backfill temperature --from 2026-11-17 --dry-run

      millrace backfill temperature --from 2026-11-10 --to 2026-11-17
    """
    layout = Settings.from_env(os.environ).layout
    task = _plan(layout, name, first, last, datetime.now(UTC), dry_run=dry_run)
    result = _run(layout, task)
    if as_json:
        print_json(result.model_dump(mode="json"))
        return
    for line in _lines(result):
        print_line(line)


def _plan(
    layout: Layout, name: str, first: str, last: str | None, now: datetime, *, dry_run: bool
) -> BackfillSpec:
    from millrace.local.tasks import new_task_folder

    pipeline = find_pipeline(layout, name)
    job = plan_job(layout, pipeline)
    if job.refine is None:
        raise MillraceError(f"pipeline {name!r} has no columns, so no silver table to make anew")
    from_day, to_day = parse_day("--from", first), parse_day("--to", last or first)
    keeps = (pipeline.keep.bronze, pipeline.keep.silver, pipeline.keep.quarantine)
    check_days(from_day, to_day, latest_of(*(first_kept_day(k, now) for k in keeps)), now.date())
    return BackfillSpec(
        pipeline=name,
        engine=job.engine,
        tables=job.tables,
        folder=new_task_folder(layout, name, "backfill"),
        first=from_day,
        last=to_day,
        checkpoints=_checkpoints(layout, job),
        refine=job.refine,
        dry_run=dry_run,
    )


def _checkpoints(layout: Layout, job: JobSpec) -> dict[str, str]:
    """A site that has left the file may still be read by the job that was started last."""
    started = Mailbox(layout.job(job.pipeline)).read_job()
    inputs = (*(started.inputs if started else ()), *job.inputs)
    return {site.site: site.checkpoint for site in inputs}


def _run(layout: Layout, task: BackfillSpec) -> BackfillResult:
    from millrace.local.tasks import run_task

    return run_task(layout, "spark_jobs.backfill", task, BackfillResult, show_progress)


def _lines(result: BackfillResult) -> list[str]:
    verb = "would be" if result.dry_run else "is"
    before = {day.day: day for day in result.before}
    lines = [_line(before.get(after.day, DayRows(day=after.day)), after) for after in result.after]
    table = f"{'day':<12}{'bronze':>12}  {'silver':<28}{'quarantine':<28}"
    return [f"before -> as it {verb} now", table, *lines] if lines else ["no rows on these days"]


def _line(before: DayRows, after: DayRows) -> str:
    silver = f"{before.silver} -> {after.silver}"
    quarantine = f"{before.quarantine} -> {after.quarantine}"
    return f"{after.day!s:<12}{after.bronze:>12}  {silver:<28}{quarantine:<28}"
