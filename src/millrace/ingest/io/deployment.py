"""What is to run, and where its tables are: as read from the files, or as they were last good.

What was provisioned is remembered beside the job. So all tasks of a run mean the same, and a file
that an operator breaks takes nothing away from a pipeline that runs.
"""

from __future__ import annotations

import hashlib
import logging

from pydantic import ValidationError

from millrace.base.errors import MillraceError
from millrace.base.model import Frozen
from millrace.ingest.core.ingest_plan import plan_for_runner
from millrace.ingest.core.ingest_spec import IngestSpec
from millrace.lake.core.refine import RefineSpec
from millrace.pipelines.core.references import sites_of
from millrace.pipelines.core.spec import PipelineSpec
from millrace.pipelines.io.loader import load_file, load_pipeline, load_sites, pipeline_files
from millrace.pipelines.io.refining import load_refine
from millrace.settings.core.layout import Layout
from millrace.sites.core.spec import SiteSpec
from millrace.storage.core.bucket import Bucket
from millrace.storage.io.files import read_text, write_atomic

log = logging.getLogger(__name__)

_FILE = "deployment.json"


class Deployment(Frozen):
    pipeline: PipelineSpec
    sites: tuple[SiteSpec, ...]
    refine: RefineSpec | None = None
    # None: a folder. Another place has no tables before they are provisioned there.
    bucket: Bucket | None = None

    @property
    def digest(self) -> str:
        """Changes with the place and every value in the files, also those no job ever sees."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]

    def job(self, layout: Layout) -> IngestSpec:
        return plan_for_runner(self.pipeline, list(self.sites), layout, self.refine)


def read_deployment(layout: Layout, name: str) -> Deployment:
    pipeline = load_pipeline(layout, layout.pipelines / f"{name}.yaml")
    return Deployment(
        pipeline=pipeline,
        sites=tuple(sites_of(pipeline, load_sites(layout))),
        refine=load_refine(layout, pipeline),
        bucket=layout.bucket,
    )


def remember(layout: Layout, deployment: Deployment) -> None:
    folder = layout.job(deployment.pipeline.name)
    write_atomic(folder / _FILE, deployment.model_dump_json(indent=2))


def recall(layout: Layout, name: str) -> Deployment | None:
    """What was provisioned last; None also for a file of an older version of Millrace."""
    text = read_text(layout.job(name) / _FILE)
    try:
        return Deployment.model_validate_json(text) if text else None
    except ValidationError:
        return None


def read_or_recall(layout: Layout, name: str) -> Deployment:
    try:
        return read_deployment(layout, name)
    except MillraceError as error:
        last_good = recall(layout, name)
        if last_good is None:
            raise
        log.warning("the files as they were last good stay in force, because %s", error)
        return last_good.model_copy(update={"bucket": layout.bucket})


def known_pipelines(layout: Layout, only: str | None = None) -> list[PipelineSpec]:
    """All that can be read, or once could; dags/check_files.py tells of the others."""
    names = [file.stem for file in pipeline_files(layout) if only in (None, file.stem)]
    return [spec for name in names if (spec := read_alone(layout, name))]


def read_alone(layout: Layout, name: str) -> PipelineSpec | None:
    """A file that somebody broke hides no pipeline that runs."""
    try:
        return load_file(layout.pipelines / f"{name}.yaml", PipelineSpec)
    except MillraceError:
        last_good = recall(layout, name)
        return last_good.pipeline if last_good else None
