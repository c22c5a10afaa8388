"""`millrace replay`: what is missing of a span comes into the tables."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from millrace.base.instants import parse_instant
from millrace.base.output import Json, print_json, print_line, show_progress
from millrace.platform.io.environment import platform_here
from millrace.repair.core.replay_spec import Origin, ReplayRequest, ReplayResult
from millrace.repair.io.replay_run import plan_replay
from millrace.repair.io.replay_run import replay as run
from millrace.repair.text.replay_lines import result_lines

_INCOMPLETE = 1

Sites = Annotated[list[str] | None, typer.Option("--site", help="Only this site; may be repeated.")]
Topics = Annotated[
    list[str] | None, typer.Option("--topic", help="Only this topic; may be repeated.")
]
Partitions = Annotated[
    list[int] | None, typer.Option("--partition", min=0, help="Only this one; may be repeated.")
]


class SourceChoice(StrEnum):
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
        SourceChoice, typer.Option(help="bronze: silver and quarantine are filled from it.")
    ] = SourceChoice.KAFKA,
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
    layout = platform_here()
    asked = _asked(since, until, first, last)
    task = plan_replay(
        layout, name, asked, source.value, site or (), topic or (), partition or ()
    ).model_copy(update={"dry_run": dry_run})
    result = run(layout, task, show_progress)
    _show(result, task.origin, as_json=as_json)
    if not result.is_complete:
        raise typer.Exit(_INCOMPLETE)


def _asked(
    since: str | None, until: str | None, first: int | None, last: int | None
) -> ReplayRequest:
    return ReplayRequest(
        first=first,
        last=last,
        since=parse_instant("--from", since) if since else None,
        until=parse_instant("--to", until) if until else None,
    )


def _show(result: ReplayResult, origin: Origin, *, as_json: bool) -> None:
    if as_json:
        print_json({**result.model_dump(mode="json"), "complete": result.is_complete})
        return
    for line in result_lines(result, origin):
        print_line(line)
