"""What a pipeline's messages are refined by: its columns, its schemas, its suite."""

from __future__ import annotations

from millrace.core.columns import resolve_columns, resolve_event_time
from millrace.core.layout import Layout
from millrace.core.pipeline import PipelineSpec
from millrace.core.refine import RefineSpec


def load_refine(layout: Layout, pipeline: PipelineSpec) -> RefineSpec | None:
    """None for a pipeline without columns: it keeps bronze alone."""
    if not pipeline.columns:
        return None
    return RefineSpec(
        format=pipeline.format,
        columns=resolve_columns(pipeline.columns),
        event_time=resolve_event_time(pipeline.columns, pipeline.event_time),
        schemas=_schemas(layout) if pipeline.format == "avro" else {},
    )


def _schemas(layout: Layout) -> dict[int, str]:
    files = sorted(layout.schemas.glob("*.avsc"))
    return {int(file.stem.partition("-")[0]): file.read_text() for file in files}
