"""`millrace maintain`: what a pipeline's tables need, and doing it."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

import typer

from millrace.base.output import Json, print_json, print_line, show_progress
from millrace.maintenance.core.maintenance_plan import TablePlan
from millrace.maintenance.core.maintenance_task import MaintainResult
from millrace.maintenance.io.maintenance_run import maintain as run
from millrace.maintenance.io.maintenance_run import make_plans
from millrace.maintenance.text import held_lines, plan_lines, result_lines
from millrace.platform.io.environment import platform_here
from millrace.tasks.io.task_pipelines import find_pipeline


class LayerChoice(StrEnum):
    BRONZE = "bronze"
    SILVER = "silver"
    QUARANTINE = "quarantine"


def maintain(
    name: Annotated[str, typer.Argument(metavar="PIPELINE", help="A pipeline's name.")],
    *,
    plan_only: Annotated[
        bool, typer.Option("--plan", help="Only say what would be done; starts no engine.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Also drop the days that a plan holds back.")
    ] = False,
    layer: Annotated[LayerChoice | None, typer.Option(help="This table alone.")] = None,
    as_json: Json = False,
) -> None:
    """Compact small files, drop days that are older than `keep`, and clean up, beside the job.

    Days go at the pace at which days pass. Where more are old at once (a clock that is ahead, a
    shorter `keep`, a stack that was down for days), the rest is held back, and goes with --yes.
    """
    layout = platform_here()
    pipeline = find_pipeline(layout, name)
    plans = make_plans(layout, pipeline, layer, datetime.now(UTC), agreed=yes)
    if plan_only:
        _show(as_json, {"plans": [_brief(plan) for plan in plans]}, plan_lines(plans))
        return
    result = run(layout, pipeline, plans, show_progress)
    held = [plan for plan in plans if plan.held]
    value = {**_brief(result), "held": [_brief(plan) for plan in held]}
    _show(as_json, value, [*result_lines(result), *held_lines(held, name)])


def _brief(model: TablePlan | MaintainResult) -> dict[str, object]:
    """Without the names of what may be a hundred thousand files."""
    bins = {"bins": {"__all__": {"paths"}}}
    if isinstance(model, TablePlan):
        return model.model_dump(mode="json", exclude={"actions": {"__all__": bins}})
    return model.model_dump(mode="json", exclude={"done": {"__all__": {"action": bins}}})


def _show(as_json: bool, value: object, lines: list[str]) -> None:
    if as_json:
        print_json(value)
        return
    for line in lines:
        print_line(line)
