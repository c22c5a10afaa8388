"""Finds the pipeline that a name means, and what a task needs of it."""

from __future__ import annotations

from collections.abc import Sequence

from millrace.base.errors import MillraceError
from millrace.base.suggest import did_you_mean
from millrace.ingest.core.ingest_plan import plan_for_task
from millrace.ingest.core.ingest_spec import IngestSpec
from millrace.pipelines.core.references import sites_of
from millrace.pipelines.core.spec import PipelineSpec
from millrace.pipelines.io.loader import load_pipelines, load_sites
from millrace.pipelines.io.refining import load_refine
from millrace.platform.core.platform import Platform


def find_pipeline(layout: Platform, name: str) -> PipelineSpec:
    known = {pipeline.name: pipeline for pipeline in load_pipelines(layout)}
    choose("pipeline", [name], list(known))
    return known[name]


def plan_job(layout: Platform, pipeline: PipelineSpec) -> IngestSpec:
    """What the pipeline's job reads and writes, as its files are today."""
    sites = sites_of(pipeline, load_sites(layout))
    return plan_for_task(pipeline, sites, layout, load_refine(layout, pipeline))


def choose(what: str, named: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """Those that are named, or all; raises MillraceError for one that is not there."""
    for name in named:
        if name not in known:
            guess = did_you_mean(name, known)
            listed = ", ".join(known) or "none"
            raise MillraceError(f"there is no {what} {name!r}; {guess}there are: {listed}")
    return tuple(named) or tuple(known)
