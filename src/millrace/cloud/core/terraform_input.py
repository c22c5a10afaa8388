"""What Terraform is told of the pipelines: sites and their topics, tables, limits."""

from __future__ import annotations

from collections.abc import Iterable

from millrace.base.model import Frozen
from millrace.lake.core import bronze
from millrace.lake.core.columns import resolve_columns
from millrace.lake.core.silver import QUARANTINE, Schema, silver_schema
from millrace.pipelines.core.spec import PipelineSpec
from millrace.sites.core.spec import SiteSpec

# A catalogue has no word for it; it is read by path.
_UNKNOWN = "variant"


class CatalogColumn(Frozen):
    name: str
    type: str


class AlarmLimits(Frozen):
    """Beyond these a pipeline is unwell."""

    max_lag_s: float
    stale_after_s: float


class CloudPlan(Frozen):
    release: str
    # The topics that each site sends.
    topics: dict[str, tuple[str, ...]]
    pipelines: dict[str, AlarmLimits]
    # By layer and table.
    tables: dict[str, dict[str, tuple[CatalogColumn, ...]]]


def plan_cloud(release: str, pipelines: list[PipelineSpec], sites: list[SiteSpec]) -> CloudPlan:
    return CloudPlan(
        release=release,
        topics={site.name: _topics(site, pipelines) for site in sites},
        pipelines={pipeline.name: _limits(pipeline) for pipeline in pipelines},
        tables=_tables(pipelines),
    )


def _topics(site: SiteSpec, pipelines: Iterable[PipelineSpec]) -> tuple[str, ...]:
    here = [pipeline for pipeline in pipelines if pipeline.reads(site.name)]
    return tuple(sorted({topic for pipeline in here for topic in pipeline.topics}))


def _limits(pipeline: PipelineSpec) -> AlarmLimits:
    return AlarmLimits(
        max_lag_s=pipeline.supervise.max_lag.total_seconds(),
        stale_after_s=pipeline.supervise.stale_after.total_seconds(),
    )


def _tables(pipelines: list[PipelineSpec]) -> dict[str, dict[str, tuple[CatalogColumn, ...]]]:
    """A pipeline that declares no columns has bronze alone."""
    refined = [pipeline for pipeline in pipelines if pipeline.columns]
    return {
        "bronze": {pipeline.table: _catalog(bronze.COLUMNS) for pipeline in pipelines},
        "silver": {
            pipeline.table: _catalog(silver_schema(resolve_columns(pipeline.columns)))
            for pipeline in refined
        },
        "quarantine": {pipeline.table: _catalog(QUARANTINE) for pipeline in refined},
    }


def _catalog(schema: Schema) -> tuple[CatalogColumn, ...]:
    """Without what tables are partitioned by: a catalogue names that apart."""
    return tuple(
        CatalogColumn(name=name, type=kind)
        for name, kind in schema
        if kind != _UNKNOWN and name not in bronze.PARTITION_BY
    )
