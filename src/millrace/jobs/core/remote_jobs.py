"""Jobs on other machines: what they are told, and by which names they are found again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from millrace.jobs.core.spec import JobSpec, fingerprint, plan_engine
from millrace.pipelines.core.spec import PipelineSpec
from millrace.platform.core.platform import Platform
from millrace.settings.core.engine import JVM_OPTIONS, EngineSpec, class_path
from millrace.settings.core.remotes import RemoteSettings
from millrace.storage.core.bucket import java_options

Spec = TypeVar("Spec", bound=JobSpec)


def plan_where_it_runs(plan: Callable[[Platform], Spec], runner: str, layout: Platform) -> Spec:
    """A job with the paths of the machine that will run it; `plan` makes it for a layout."""
    settings = layout.remotes.of(runner)
    if settings is None:
        return plan(layout)
    there = Platform(
        settings.home,
        bucket=layout.bucket,
        central=layout.central,
        metrics=layout.metrics,
        engine=layout.engine,
    )
    job = plan(there)
    engine = job.engine.model_copy(update={"is_submitted": True})
    job = job.model_copy(update={"engine": engine, "fingerprint": ""})
    # Another image, say, asks for another start.
    return job.model_copy(update={"fingerprint": fingerprint(job, settings)})


# It runs what ends, too; elsewhere tasks run on the machine that asks for them.
RUNS_TASKS = "emr-serverless"


def engine_for_task(pipeline: PipelineSpec, layout: Platform) -> EngineSpec:
    settings = layout.remotes.of(pipeline.runner)
    memory = pipeline.resources.memory
    if settings is None or pipeline.runner != RUNS_TASKS:
        return plan_engine(memory, layout)
    there = plan_engine(memory, Platform(settings.home, bucket=layout.bucket, engine=layout.engine))
    return there.model_copy(update={"is_submitted": True})


@dataclass(frozen=True)
class RunNames:
    """Names of one job's runs. Two stacks may share a service, so its place is in them."""

    job_id: str
    generations_dir: str

    @property
    def prefix(self) -> str:
        place = hashlib.sha256(self.generations_dir.encode()).hexdigest()[:6]
        return f"{self.job_id}-{place}-"

    def of(self, generation: int) -> str:
        """At most 63 characters, as Kubernetes wants it, up to generation 9,999,999."""
        return f"{self.prefix}{generation}"

    def generation(self, name: str) -> int | None:
        """None: it is not a run of ours."""
        number = name.removeprefix(self.prefix)
        return int(number) if number != name and number.isdigit() else None


def names_of(job: JobSpec) -> RunNames:
    return RunNames(job.id, job.generations_dir)


def spec_name(generation: int) -> str:
    """In the job's mailbox: written once, so whoever starts this generation starts the same."""
    return f"generations/{generation}.json"


def arguments(job: JobSpec) -> list[str]:
    """Of the job's entry point: where its specification is, and how the bucket is reached."""
    bucket = job.engine.bucket
    way = [bucket.model_dump_json(exclude_defaults=True)] if bucket else []
    return [f"{job.mailbox}/{spec_name(job.generation)}", *way]


def main_file(job: JobSpec, settings: RemoteSettings) -> str:
    return file_of(job.entry_point, settings)


def file_of(module: str, settings: RemoteSettings) -> str:
    return f"local://{settings.home / module.replace('.', '/')}.py"


def launch_settings(engine: EngineSpec, settings: RemoteSettings) -> dict[str, str]:
    """What a JVM must know when it begins; the job adds the rest by itself. No secret."""
    store = java_options(engine.bucket) if engine.bucket else ()
    file = settings.home / "spark_jobs" / "engine" / "log4j2.properties"
    log = f"-Dlog4j2.configurationFile={file}"
    options = " ".join((*JVM_OPTIONS, *store))
    return {
        "spark.driver.extraClassPath": class_path(engine),
        "spark.executor.extraClassPath": class_path(engine),
        "spark.driver.extraJavaOptions": f"{log} {options}",
        "spark.executor.extraJavaOptions": options,
        "spark.ui.enabled": "false",
    }
