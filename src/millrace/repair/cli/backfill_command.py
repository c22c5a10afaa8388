"""`millrace backfill`: silver and quarantine of some days, made anew from bronze."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from millrace.base.instants import parse_day
from millrace.base.output import Json, print_json, print_line, show_progress
from millrace.platform.io.environment import platform_here
from millrace.repair.core.backfill_spec import result_lines
from millrace.repair.io.backfill_run import backfill as run
from millrace.repair.io.backfill_run import plan_backfill


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
    layout = platform_here()
    days = parse_day("--from", first), parse_day("--to", last or first)
    task = plan_backfill(layout, name, *days, datetime.now(UTC), dry_run=dry_run)
    result = run(layout, task, show_progress)
    if as_json:
        print_json(result.model_dump(mode="json"))
        return
    for line in result_lines(result):
        print_line(line)
