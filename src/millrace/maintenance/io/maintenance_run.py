"""Maintenance of a pipeline's tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from millrace.core.event_sources import of_held
from millrace.core.layout import Layout
from millrace.core.maintenance.plan import TablePlan, plan_table
from millrace.core.maintenance.settings import MaintenanceSettings
from millrace.core.maintenance.task import MaintainResult, MaintainSpec
from millrace.core.pipeline import PipelineSpec
from millrace.core.remote import engine_for_task
from millrace.state.objects import objects_at
from millrace.state.outbox import tell
from millrace.state.passed_file import PassedFile
from millrace.tasks.run import new_task_folder, run_task


def make_plans(
    layout: Layout,
    pipeline: PipelineSpec,
    only: str | None,
    now: datetime,
    *,
    agreed: bool = False,
) -> list[TablePlan]:
    """`agreed`: days that a run holds back may go."""
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
        files = objects_at(location, layout.bucket)
        log = read_log(table, files, settings.vacuum_after, now)
        keep, passed = getattr(pipeline.keep, layer), _passed(layout, pipeline, layer).read()
        plans.append(plan_table(layer, location, log, keep, now, settings, passed, agreed=agreed))
    return plans


def maintain(
    layout: Layout,
    pipeline: PipelineSpec,
    plans: Iterable[TablePlan],
    on_progress: Callable[[str], None],
) -> MaintainResult:
    """What is planned, done; starts no engine where nothing is."""
    plans = tuple(plans)
    needed = tuple(plan for plan in plans if plan.actions)
    result = _done(layout, pipeline, needed, on_progress) if needed else MaintainResult()
    for plan in plans:
        if plan.passed:
            _passed(layout, pipeline, plan.layer).put(plan.passed)
    tell(layout, of_held(pipeline.name, plans, datetime.now(UTC)))
    return result


def _passed(layout: Layout, pipeline: PipelineSpec, layer: str) -> PassedFile:
    return PassedFile(objects_at(layout.mailbox(pipeline), layout.bucket), layer)


def _done(
    layout: Layout,
    pipeline: PipelineSpec,
    needed: tuple[TablePlan, ...],
    on_progress: Callable[[str], None],
) -> MaintainResult:
    task = MaintainSpec(
        pipeline=pipeline.name,
        engine=engine_for_task(pipeline, layout),
        tables=layout.tables(pipeline.table),
        folder=new_task_folder(layout, pipeline.name, "maintain"),
        plans=needed,
    )
    return run_task(layout, "spark_jobs.maintain", task, MaintainResult, on_progress)
