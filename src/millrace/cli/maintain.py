"""`millrace maintain`: what a pipeline's tables need, and doing it."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

import typer

from millrace.cli.maintain_table import plan_lines, result_lines
from millrace.cli.output import Json, print_json, print_line
from millrace.cli.pipelines import find_pipeline, show_progress
from millrace.core.job import plan_engine
from millrace.core.layout import Layout
from millrace.core.maintenance.plan import TablePlan, plan_table
from millrace.core.maintenance.settings import MaintenanceSettings
from millrace.core.maintenance.task import MaintainResult, MaintainSpec
from millrace.core.pipeline import PipelineSpec
from millrace.settings import Settings
from millrace.state.objects import objects_at


class Layer(StrEnum):
    BRONZE = "bronze"
    SILVER = "silver"
    QUARANTINE = "quarantine"


def maintain(
    name: Annotated[str, typer.Argument(metavar="PIPELINE", help="A pipeline's name.")],
    *,
    plan_only: Annotated[
        bool, typer.Option("--plan", help="Only say what would be done; starts no engine.")
    ] = False,
    layer: Annotated[Layer | None, typer.Option(help="This table alone.")] = None,
    as_json: Json = False,
) -> None:
    """Compact small files, drop days that are older than `keep`, and clean up, beside the job."""
    layout = Settings.from_env(os.environ).layout
    pipeline = find_pipeline(layout, name)
    plans = make_plans(layout, pipeline, layer, datetime.now(UTC))
    if plan_only:
        _show(as_json, {"plans": [_brief(plan) for plan in plans]}, plan_lines(plans))
        return
    result = _run(layout, pipeline, plans)
    _show(as_json, _brief(result), result_lines(result))


def make_plans(
    layout: Layout, pipeline: PipelineSpec, only: str | None, now: datetime
) -> list[TablePlan]:
    # The engine is imported by the command that needs it.
    from millrace.lake.table_log import read_log
    from millrace.lake.tables import NoTableError, open_table

    settings = MaintenanceSettings()
    plans = []
    for layer, location in layout.tables(pipeline.table):
        if only not in (None, layer):
            continue
        try:
            table = open_table(location, layout.bucket)
        except NoTableError:
            # Only bronze is there from the beginning.
            if layer in (only, Layer.BRONZE):
                raise
            continue
        log = read_log(table, objects_at(location, layout.bucket), settings.vacuum_after)
        keep = getattr(pipeline.keep, layer)
        plans.append(plan_table(layer, location, log, keep, now, settings))
    return plans


def _run(layout: Layout, pipeline: PipelineSpec, plans: list[TablePlan]) -> MaintainResult:
    from millrace.local.tasks import new_task_folder, run_task

    needed = tuple(plan for plan in plans if plan.actions)
    if not needed:
        return MaintainResult()
    task = MaintainSpec(
        pipeline=pipeline.name,
        engine=plan_engine(pipeline, layout),
        tables=layout.tables(pipeline.table),
        folder=new_task_folder(layout, pipeline.name, "maintain"),
        plans=needed,
    )
    return run_task(layout, "spark_jobs.maintain", task, MaintainResult, show_progress)


def _brief(model: TablePlan | MaintainResult) -> object:
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
