"""A pipeline's suite over the rows of some commits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from shutil import copy

from millrace.base.errors import MillraceError
from millrace.expectations.core.compiled import judged_columns
from millrace.jobs.core.remote_jobs import engine_for_task
from millrace.lake.core.columns import resolve_columns
from millrace.lake.core.refine import Severity
from millrace.pipelines.core.spec import PipelineSpec
from millrace.pipelines.io.refining import load_quality
from millrace.platform.core.platform import Platform
from millrace.quality.core.quality_task import QualityResult, QualitySpec
from millrace.quality.io.quality_progress import read_checked, remember
from millrace.tasks.io.run import new_task_folder, run_task


def check_rows(
    layout: Platform,
    pipeline: PipelineSpec,
    versions: tuple[int | None, int | None],
    fail_on: Severity,
    on_progress: Callable[[str], None],
) -> QualityResult:
    """Of the versions named; by default of all that came since the last check."""
    if load_quality(layout, pipeline) is None or pipeline.quality is None:
        raise MillraceError(
            f"pipeline {pipeline.name!r} has no suite; write 'quality: expectations/<name>.json'"
            f" into {layout.pipelines / pipeline.name}.yaml"
        )
    state = layout.quality(pipeline.name)
    folder = new_task_folder(layout, pipeline.name, "quality")
    task = QualitySpec(
        pipeline=pipeline.name,
        engine=engine_for_task(pipeline, layout),
        tables=layout.tables(pipeline.table),
        folder=folder,
        # Beside the task: it goes where that goes, and stays what was judged by.
        suite=Path(copy(layout.home / pipeline.quality, folder)),
        columns=tuple(judged_columns(resolve_columns(pipeline.columns))),
        checked=read_checked(state),
        from_version=versions[0],
        to_version=versions[1],
        fail_on=fail_on,
    )
    result = run_task(layout, "spark_jobs.quality.quality", task, QualityResult, on_progress)
    remember(state, result.checked, task.folder)
    return result
