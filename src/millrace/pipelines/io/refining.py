"""What a pipeline's messages are refined by: its columns, its schemas, its suite."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from millrace.base.errors import BadValueError, Place, SpecError, SpecErrors
from millrace.expectations.core.compiled import CompiledSuite, judged_columns
from millrace.expectations.io.suite_files import load_suite
from millrace.lake.core.columns import resolve_columns, resolve_event_time
from millrace.lake.core.refine import RefineSpec
from millrace.pipelines.core.spec import PipelineSpec
from millrace.schemas.io.schema_files import load_schema_files
from millrace.settings.core.paths import Paths


def load_refine(layout: Paths, pipeline: PipelineSpec) -> RefineSpec | None:
    """None for a pipeline without columns: it keeps bronze alone."""
    if not pipeline.columns:
        return None
    suite = load_quality(layout, pipeline)
    return RefineSpec(
        format=pipeline.format,
        columns=resolve_columns(pipeline.columns),
        event_time=resolve_event_time(pipeline.columns, pipeline.event_time),
        schemas=_schemas(layout) if pipeline.format == "avro" else {},
        rules=suite.rules if suite else (),
    )


def load_quality(layout: Paths, pipeline: PipelineSpec) -> CompiledSuite | None:
    """None for a pipeline that names no suite."""
    if not pipeline.quality:
        return None
    file = layout.home / pipeline.quality
    if not file.is_file():
        there = ", ".join(f"expectations/{one.name}" for one in _suites(layout))
        place = Place(layout.pipelines / f"{pipeline.name}.yaml")
        problem = (
            f"quality={pipeline.quality!r}: there is no such file; there are: {there or 'none'}"
        )
        raise SpecErrors([BadValueError(place, problem)])
    return load_suite(file, judged_columns(resolve_columns(pipeline.columns)))


def check_quality(layout: Paths, pipelines: Iterable[PipelineSpec]) -> dict[str, CompiledSuite]:
    """The suites of all pipelines that name one; all that is wrong with them in one error."""
    suites: dict[str, CompiledSuite] = {}
    errors: list[SpecError] = []
    for pipeline in pipelines:
        try:
            suite = load_quality(layout, pipeline)
        except SpecErrors as found:
            errors.extend(found.errors)
        else:
            if suite:
                suites[pipeline.name] = suite
    if errors:
        raise SpecErrors(errors)
    return suites


def _suites(layout: Paths) -> list[Path]:
    return sorted(layout.expectations.glob("*.json"))


def _schemas(layout: Paths) -> dict[int, str]:
    return {one.id: one.text for one in load_schema_files(layout.schemas)}
