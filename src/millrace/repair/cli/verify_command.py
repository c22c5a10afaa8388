"""`millrace verify`: nothing is missing and nothing doubled, or what is."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from millrace.base.instants import parse_day
from millrace.base.output import Json, print_json, print_line, show_progress
from millrace.platform.io.environment import platform_here
from millrace.repair.io.verify_run import plan_verify
from millrace.repair.io.verify_run import verify as run
from millrace.repair.text.verify_lines import result_lines

_ALARMS = 1


def verify(
    name: Annotated[str, typer.Argument(metavar="PIPELINE", help="A pipeline's name.")],
    *,
    since: Annotated[
        str | None, typer.Option("--since", help="Only from this day (UTC) on; sooner done.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Prove that no record is missing and none is there twice, beside the running job.

    Offsets are compared with the broker's and with the job's positions; silver and quarantine
    with bronze; and the numbers that producers gave their messages, where they did. Only what the
    job has finished is looked at. A hole at which the broker has no record either (a marker of a
    transaction, a compacted record) is no loss.

    Exit code 1 when there is an alarm. Each has a name, its exact offsets, and where there is one
    the command that puts it right.

    Examples:

      millrace verify temperature

      millrace verify temperature --since 2026-11-17 --json
    """
    layout = platform_here()
    from_day = parse_day("--since", since) if since else None
    result = run(layout, plan_verify(layout, name, from_day, datetime.now(UTC)), show_progress)
    if as_json:
        print_json({**result.model_dump(mode="json"), "whole": result.is_whole})
    else:
        for line in result_lines(result):
            print_line(line)
    if not result.is_whole:
        raise typer.Exit(_ALARMS)
