"""What a pipeline's file will bring into being, said before anything is."""

from __future__ import annotations

from millrace.base.model import Frozen
from millrace.expectations.core.compiled import CompiledSuite
from millrace.pipelines.core.references import sites_of
from millrace.pipelines.core.spec import PipelineSpec
from millrace.platform.core.platform import Platform
from millrace.sites.core.spec import SiteSpec


class Effects(Frozen):
    """All that one pipeline creates."""

    pipeline: str
    dag: str
    runner: str
    topics: tuple[str, ...]
    tables: dict[str, str]
    checkpoints: tuple[str, ...]
    queries: int
    # What its suite says of each row, and of batches; None: it names no suite.
    quality: str | None = None


def effects_of(
    pipeline: PipelineSpec,
    sites: list[SiteSpec],
    layout: Platform,
    suite: CompiledSuite | None = None,
) -> Effects:
    mine = sites_of(pipeline, sites)
    return Effects(
        pipeline=pipeline.name,
        dag=pipeline.dag_id,
        runner=pipeline.runner,
        topics=tuple(
            f"{_place(layout, site.name, topic)} ({pipeline.partitions} partitions)"
            for site in mine
            for topic in pipeline.topics
        ),
        tables=_tables(pipeline, layout),
        checkpoints=tuple(layout.checkpoint(pipeline.name, site.name) for site in mine),
        queries=len(mine),
        quality=suite.summary if suite else None,
    )


def _place(layout: Platform, site: str, topic: str) -> str:
    central = layout.central
    return f"{central.topic(site, topic)}@central" if central else f"{topic}@{site}"


def _tables(pipeline: PipelineSpec, layout: Platform) -> dict[str, str]:
    tables: dict[str, str] = layout.tables(pipeline.table).model_dump()
    return tables if pipeline.columns else {"bronze": tables["bronze"]}
