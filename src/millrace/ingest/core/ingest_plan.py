"""From a pipeline's file to its job, with the paths of the machine that runs it."""

from __future__ import annotations

from millrace.ingest.core.ingest_spec import IngestSpec, SiteInput
from millrace.jobs.core.remote_jobs import RUNS_TASKS, plan_where_it_runs
from millrace.jobs.core.spec import SiteLogin, fingerprint, plan_engine
from millrace.kafka.core.kafka_client import (
    central_java_settings,
    central_librdkafka_settings,
    java_settings,
    librdkafka_settings,
)
from millrace.lake.core.refine import RefineSpec
from millrace.pipelines.core.spec import PipelineSpec
from millrace.platform.core.platform import Platform
from millrace.sites.core.spec import ClientSettings, SiteSpec
from millrace.sites.core.user_names import INGEST as INGEST_USER


def plan_ingest(
    pipeline: PipelineSpec,
    sites: list[SiteSpec],
    layout: Platform,
    refine: RefineSpec | None = None,
) -> IngestSpec:
    """The ingest job of a pipeline; equal files give an equal fingerprint."""
    job = IngestSpec(
        id=pipeline.name,
        entry_point="spark_jobs.ingest.ingest",
        logins=tuple(SiteLogin(user=INGEST_USER, site=site.name) for site in sites),
        inputs=tuple(_site_input(pipeline, site, layout) for site in sites),
        tables=layout.tables(pipeline.table),
        refine=refine,
        trigger_s=pipeline.freshness.total_seconds(),
        rows_per_batch=pipeline.resources.rows_per_batch,
        bytes_per_batch=pipeline.resources.bytes_per_batch,
        mailbox=layout.mailbox(pipeline.name, is_remote=pipeline.is_remote),
        generations_dir=layout.generations(pipeline.name),
        engine=plan_engine(pipeline.resources.memory, layout),
        metrics=layout.metrics,
    )
    return job.model_copy(update={"fingerprint": fingerprint(job)})


def plan_for_runner(
    pipeline: PipelineSpec,
    sites: list[SiteSpec],
    layout: Platform,
    refine: RefineSpec | None = None,
) -> IngestSpec:
    """The pipeline's job with the paths of the machine that will run it."""
    return plan_where_it_runs(
        lambda there: plan_ingest(pipeline, sites, there, refine), pipeline.runner, layout
    )


def plan_for_task(
    pipeline: PipelineSpec, sites: list[SiteSpec], layout: Platform, refine: RefineSpec | None
) -> IngestSpec:
    """What a task reads and writes, with the paths of the machine that will run it."""
    plan = plan_for_runner if pipeline.runner == RUNS_TASKS else plan_ingest
    return plan(pipeline, sites, layout, refine)


def _site_input(pipeline: PipelineSpec, site: SiteSpec, layout: Platform) -> SiteInput:
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


def _input_at_site(pipeline: PipelineSpec, site: SiteSpec, layout: Platform) -> SiteInput:
    secret = layout.user_secret(site.name, INGEST_USER)
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
