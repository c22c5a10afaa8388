"""Maintenance of a pipeline's tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from millrace.core.layout import Layout
from millrace.core.maintenance.plan import TablePlan, plan_table
from millrace.core.maintenance.settings import MaintenanceSettings
from millrace.core.maintenance.task import MaintainResult, MaintainSpec
from millrace.core.pipeline import PipelineSpec
from millrace.core.remote import engine_for_task
from millrace.state.objects import objects_at
from millrace.tasks.run import new_task_folder, run_task


def make_plans(
    layout: Layout, pipeline: PipelineSpec, only: str | None, now: datetime
) -> list[TablePlan]:
    # The engine is imported by the work that needs it.
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
            if layer in (only, "bronze"):
                raise
            continue
        log = read_log(table, objects_at(location, layout.bucket), settings.vacuum_after)
        keep = getattr(pipeline.keep, layer)
        plans.append(plan_table(layer, location, log, keep, now, settings))
    return plans


def maintain(
    layout: Layout,
    pipeline: PipelineSpec,
    plans: Iterable[TablePlan],
    on_progress: Callable[[str], None],
) -> MaintainResult:
    """What is planned, done; starts no engine where nothing is."""
    needed = tuple(plan for plan in plans if plan.actions)
    if not needed:
        return MaintainResult()
    task = MaintainSpec(
        pipeline=pipeline.name,
        engine=engine_for_task(pipeline, layout),
        tables=layout.tables(pipeline.table),
        folder=new_task_folder(layout, pipeline.name, "maintain"),
        plans=needed,
    )
    return run_task(layout, "spark_jobs.maintain", task, MaintainResult, on_progress)
