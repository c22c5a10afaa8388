"""Maintenance of a pipeline's tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from millrace.incidents.io.outbox import tell
from millrace.jobs.core.remote_jobs import engine_for_task
from millrace.maintenance.core.held_days import event_of_held_days
from millrace.maintenance.core.maintenance_plan import TablePlan, plan_table
from millrace.maintenance.core.maintenance_settings import MaintenanceSettings
from millrace.maintenance.core.maintenance_task import MaintainResult, MaintainSpec
from millrace.maintenance.io.passed_file import PassedFile
from millrace.pipelines.core.spec import PipelineSpec
from millrace.platform.core.platform import Platform
from millrace.storage.io.objects import objects_at
from millrace.tasks.io.run import new_task_folder, run_task


def make_plans(
    layout: Platform,
    pipeline: PipelineSpec,
    only: str | None,
    now: datetime,
    *,
    agreed: bool = False,
) -> list[TablePlan]:
    """`agreed`: days that a run holds back may go."""
    # The engine is imported by the work that needs it.
    from millrace.lake.io.tables import NoTableError, open_table
    from millrace.maintenance.io.table_log import read_log

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
    layout: Platform,
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
    tell(layout, event_of_held_days(pipeline.name, plans, datetime.now(UTC)))
    return result


def _passed(layout: Platform, pipeline: PipelineSpec, layer: str) -> PassedFile:
    mailbox = layout.mailbox(pipeline.name, is_remote=pipeline.is_remote)
    return PassedFile(objects_at(mailbox, layout.bucket), layer)


def _done(
    layout: Platform,
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
    return run_task(layout, "spark_jobs.maintenance.maintain", task, MaintainResult, on_progress)
