"""A pipeline's files, as its job is deployed from them."""

from __future__ import annotations

from typing import Literal

from millrace.base.errors import MillraceError
from millrace.ingest.core.ingest_plan import plan_for_runner
from millrace.ingest.core.ingest_spec import INGEST, IngestSpec
from millrace.jobs.core.deployment import Deployment
from millrace.jobs.io.deployments import recall_as
from millrace.lake.core.refine import RefineSpec
from millrace.pipelines.core.references import sites_of
from millrace.pipelines.core.spec import PipelineSpec, Supervise
from millrace.pipelines.io.loader import load_pipeline, load_sites, pipeline_files
from millrace.pipelines.io.refining import load_refine
from millrace.platform.core.platform import Platform
from millrace.sites.core.spec import SiteSpec
from millrace.specs.spec_files import load_file


class PipelineDeployment(Deployment):
    kind: Literal["ingest"] = INGEST
    pipeline: PipelineSpec
    sites: tuple[SiteSpec, ...]
    refine: RefineSpec | None = None

    @property
    def id(self) -> str:
        return self.pipeline.name

    @property
    def runner(self) -> str:
        return self.pipeline.runner

    @property
    def supervise(self) -> Supervise:
        return self.pipeline.supervise

    def job(self, layout: Platform) -> IngestSpec:
        return plan_for_runner(self.pipeline, list(self.sites), layout, self.refine)


def read_deployment(layout: Platform, name: str) -> PipelineDeployment:
    pipeline = load_pipeline(layout, layout.pipelines / f"{name}.yaml")
    return PipelineDeployment(
        pipeline=pipeline,
        sites=tuple(sites_of(pipeline, load_sites(layout))),
        refine=load_refine(layout, pipeline),
        bucket=layout.bucket,
    )


def known_pipelines(layout: Platform, only: str | None = None) -> list[PipelineSpec]:
    """All that can be read, or once could; dags/check_files.py tells of the others."""
    names = [file.stem for file in pipeline_files(layout) if only in (None, file.stem)]
    return [spec for name in names if (spec := read_alone(layout, name))]


def read_alone(layout: Platform, name: str) -> PipelineSpec | None:
    """A file that somebody broke hides no pipeline that runs."""
    try:
        return load_file(layout.pipelines / f"{name}.yaml", PipelineSpec)
    except MillraceError:
        last_good = recall_as(PipelineDeployment, layout, name)
        return last_good.pipeline if last_good else None
