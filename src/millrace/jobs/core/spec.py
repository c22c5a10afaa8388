"""A job: what a runner is asked to start, and what it says of it afterwards."""

from __future__ import annotations

import hashlib
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from millrace.base.model import Frozen
from millrace.jobs.core.metrics import Metrics
from millrace.kafka.core.kafka_client import (
    central_java_settings,
    central_librdkafka_settings,
    java_settings,
    librdkafka_settings,
)
from millrace.lake.core.refine import RefineSpec
from millrace.pipelines.core.spec import PipelineSpec
from millrace.provisioning.core.site_rights import INGEST
from millrace.settings.core.engine import EngineSpec, Tables
from millrace.settings.core.layout import Layout
from millrace.sites.core.spec import ClientSettings, SiteSpec


class SiteInput(Frozen):
    """One cluster a job reads: one streaming query, one checkpoint."""

    site: str
    topics: tuple[str, ...]
    # Java client settings; secrets stay in the files these point at.
    kafka: dict[str, str]
    # The same for librdkafka, without user and password.
    librdkafka: ClientSettings
    secret_file: Path
    # A secret of AWS's, which holds the login instead of that file.
    secret: str | None = None
    ca_file: Path
    checkpoint: str


class JobSpec(Frozen):
    """All that a running job needs to know; holds no secret, so it may be shown anywhere."""

    pipeline: str
    entry_point: str
    generation: int = 0
    fingerprint: str = ""
    reason: str = ""
    # What its runner calls it; empty where the pipeline's name is enough.
    run: str = ""
    inputs: tuple[SiteInput, ...]
    tables: Tables
    # None: bronze alone.
    refine: RefineSpec | None = None
    trigger_s: float
    # Bounds of each batch of each site.
    rows_per_batch: int
    bytes_per_batch: int
    # A folder, or a part of a bucket where the job runs elsewhere.
    mailbox: str
    generations_dir: str
    engine: EngineSpec
    # None: nobody but supervision asks how it does.
    metrics: Metrics | None = None


def plan_ingest(
    pipeline: PipelineSpec,
    sites: list[SiteSpec],
    layout: Layout,
    refine: RefineSpec | None = None,
) -> JobSpec:
    """The ingest job of a pipeline; equal files give an equal fingerprint."""
    job = JobSpec(
        pipeline=pipeline.name,
        entry_point="spark_jobs.ingest.ingest",
        inputs=tuple(_site_input(pipeline, site, layout) for site in sites),
        tables=layout.tables(pipeline.table),
        refine=refine,
        trigger_s=pipeline.freshness.total_seconds(),
        rows_per_batch=pipeline.resources.rows_per_batch,
        bytes_per_batch=pipeline.resources.bytes_per_batch,
        mailbox=layout.mailbox(pipeline),
        generations_dir=layout.generations(pipeline.name),
        engine=plan_engine(pipeline, layout),
        metrics=layout.metrics,
    )
    return job.model_copy(update={"fingerprint": fingerprint(job)})


def fingerprint(*parts: Frozen) -> str:
    text = "".join(part.model_dump_json() for part in parts)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def plan_engine(pipeline: PipelineSpec, layout: Layout) -> EngineSpec:
    return EngineSpec(
        memory=pipeline.resources.memory,
        class_path=(layout.jars("spark"), layout.jars("jvm")),
        bucket=layout.bucket,
        cluster=layout.cluster,
        parts=layout.engine,
    )


def _site_input(pipeline: PipelineSpec, site: SiteSpec, layout: Layout) -> SiteInput:
    at_site = _input_at_site(pipeline, site, layout)
    if (central := layout.central) is None:
        return at_site
    return at_site.model_copy(
        update={
            "topics": tuple(central.topic(site.name, topic) for topic in pipeline.topics),
            "kafka": central_java_settings(central),
            "librdkafka": central_librdkafka_settings(central),
            "secret": central.secret,
        }
    )


def _input_at_site(pipeline: PipelineSpec, site: SiteSpec, layout: Layout) -> SiteInput:
    secret = layout.user_secret(site.name, INGEST)
    return SiteInput(
        site=site.name,
        topics=pipeline.topics,
        kafka=java_settings(site, layout.ca, secret),
        librdkafka=_without_login(librdkafka_settings(site, layout.ca, "", "")),
        secret_file=secret,
        ca_file=layout.ca,
        checkpoint=layout.checkpoint(pipeline.name, site.name),
    )


def _without_login(settings: ClientSettings) -> ClientSettings:
    login = {"sasl.username", "sasl.password"}
    return {key: value for key, value in settings.items() if key not in login}


class JobState(StrEnum):
    """What a runner sees of a job's process."""

    ABSENT = "absent"  # never started here
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"  # ended because it was asked to
    DEAD = "dead"  # ended by itself
    UNKNOWN = "unknown"  # the runner itself cannot be asked


class JobStatus(Frozen):
    """A runner's answer about one job."""

    state: JobState
    pid: int | None = None
    since: datetime | None = None
    exit_code: int | None = None
    generation: int = 0
    fingerprint: str = ""
    # Why it ended, where no exit code says it.
    reason: str = ""


class Runner(Protocol):
    """Starts, finds, stops and reads the log of jobs. One file for each place they can run."""

    def start(self, job: JobSpec) -> JobStatus:
        """Start the job as the next generation, or return what already runs."""

    def status(self, pipeline: str) -> JobStatus: ...

    def stop(self, pipeline: str, timeout_s: float) -> JobStatus:
        """Ask the job to finish its batch and end; after the timeout it is killed."""

    def log_tail(self, pipeline: str, lines: int) -> list[str]: ...
