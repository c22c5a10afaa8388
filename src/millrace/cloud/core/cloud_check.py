"""Do Terraform's outputs hold all that the pipelines need? Each gap with the way out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from millrace.base.model import Frozen
from millrace.pipelines.core.references import sites_of
from millrace.pipelines.core.spec import PipelineSpec
from millrace.settings.core.metrics import Metrics
from millrace.settings.core.remotes import EmrServerlessSettings
from millrace.sites.core.central import TOPICS, Central
from millrace.sites.core.spec import SiteSpec
from millrace.storage.core.bucket import RemoteStore

RUNNER = "emr-serverless"
JOBS = ("ingest", "replay", "backfill", "quality", "continuity", "maintain")
_APPLY = "run 'make release', and 'terraform apply' in terraform/environments/{environment}"
_NEEDED_OF_JOBS = ("bootstrap", "secret_arn", "image")
_NEEDED_OF_SITES = ("bootstrap", "user", "secret_arn", "policy_arn")
_SETTINGS: Mapping[str, type[BaseModel]] = {
    "store": RemoteStore,
    "emr_serverless": EmrServerlessSettings,
    "central": Central,
    "metrics": Metrics,
}
_ACL_WORDS = ("write", "describe")


class MissingPart(Frozen):
    what: str
    way_out: str

    def __str__(self) -> str:
        return f"{self.what}; {self.way_out}"


class WantedEnvironment(Frozen):
    """What the files here want."""

    environment: str
    release: str
    pipelines: tuple[PipelineSpec, ...]
    sites: tuple[SiteSpec, ...]

    @property
    def apply(self) -> str:
        return _APPLY.format(environment=self.environment)


def find_gaps(asked: WantedEnvironment, outputs: Mapping[str, Any]) -> list[MissingPart]:
    if not outputs:
        return [MissingPart(what=f"{asked.environment} was never applied", way_out=asked.apply)]
    return [
        *_settings(asked, outputs.get("local") or {}),
        *_jobs(asked, outputs.get("jobs") or {}),
        *_release(asked, outputs.get("airflow") or {}),
        *_runners(asked.pipelines),
        *_sites(asked, outputs),
    ]


def _settings(asked: WantedEnvironment, local: Mapping[str, Any]) -> Iterator[MissingPart]:
    """What jobs and Airflow read as infra/local.yaml."""
    for key, model in _SETTINGS.items():
        if key not in local:
            yield MissingPart(what=f"output local lacks {key}", way_out=asked.apply)
            continue
        try:
            model.model_validate(local[key])
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join((key, *map(str, first["loc"])))
            what = f"output local: {place}={first['input']!r}: {first['msg']}"
            yield MissingPart(what=what, way_out=asked.apply)


def _jobs(asked: WantedEnvironment, jobs: Mapping[str, Any]) -> Iterator[MissingPart]:
    roles = jobs.get("role_arns") or {}
    for job in JOBS:
        if not roles.get(job):
            yield MissingPart(what=f"output jobs: there is no role for {job}", way_out=asked.apply)
    for key in _NEEDED_OF_JOBS:
        if not jobs.get(key):
            yield MissingPart(what=f"output jobs lacks {key}", way_out=asked.apply)
    if jobs.get("image") and not jobs.get("image_tag"):
        values = f"environments/{asked.environment}/values.tf"
        yield MissingPart(
            what="jobs have no image",
            way_out=f"push it to {jobs['image']}, name its tag in {values}, apply",
        )


def _release(asked: WantedEnvironment, airflow: Mapping[str, Any]) -> Iterator[MissingPart]:
    deployed = airflow.get("release")
    if deployed != asked.release:
        what = f"Airflow has release {deployed or '(none)'}, and the files here are {asked.release}"
        yield MissingPart(what=what, way_out=asked.apply)


def _runners(pipelines: Iterable[PipelineSpec]) -> Iterator[MissingPart]:
    for pipeline in pipelines:
        if pipeline.runner != RUNNER:
            yield MissingPart(
                what=f"pipeline {pipeline.name}: runner={pipeline.runner!r} has no machine there",
                way_out=f"write runner: {RUNNER} in dags/pipelines/{pipeline.name}.yaml",
            )


def _sites(asked: WantedEnvironment, outputs: Mapping[str, Any]) -> Iterator[MissingPart]:
    bundles = outputs.get("sites") or {}
    pattern = (outputs.get("local") or {}).get("central", {}).get("topics", TOPICS)
    for pipeline in asked.pipelines:
        for site in sites_of(pipeline, list(asked.sites)):
            wanted = [pattern.format(site=site.name, topic=topic) for topic in pipeline.topics]
            for gap in _of_site(site.name, wanted, bundles.get(site.name)):
                what = f"pipeline {pipeline.name}: {gap}"
                yield MissingPart(what=what, way_out=asked.apply)


def _of_site(site: str, wanted: Sequence[str], bundle: Mapping[str, Any] | None) -> Iterator[str]:
    if bundle is None:
        yield f"site {site} has no user at the central brokers"
        return
    for key in _NEEDED_OF_SITES:
        if not bundle.get(key):
            yield f"site {site}: its bundle lacks {key}"
    rights = {
        (acl.get("name"), acl.get("operation"))
        for acl in bundle.get("acls", ())
        if acl.get("user") == site
    }
    for topic in wanted:
        if topic not in bundle.get("topics", ()):
            yield f"site {site} has no topic {topic}"
        elif not {(topic, word) for word in _ACL_WORDS} <= rights:
            yield f"site {site} may not write its topic {topic}"
