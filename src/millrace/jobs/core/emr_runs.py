"""EMR Serverless in our words: the request that starts a job, and what its states mean."""

from __future__ import annotations

import hashlib
from typing import Any

from millrace.base.errors import (
    GenerationTakenError,
    MillraceError,
    RunnerRefusedError,
    RunnerUnreachableError,
)
from millrace.jobs.core.remote_jobs import arguments, file_of, launch_settings, main_file, names_of
from millrace.jobs.core.spec import JobSpec, JobState
from millrace.jobs.core.task_spec import TaskSpec
from millrace.settings.core.engine import EngineSpec
from millrace.settings.core.remotes import EmrServerlessSettings
from millrace.storage.core.bucket import SCHEME, Bucket

LIVE_STATES = ("SUBMITTED", "PENDING", "SCHEDULED", "QUEUED", "RUNNING", "CANCELLING")
# What CancelJobRun takes.
_GRACE_S = range(15, 1801)
_SERVERS_FAULT = 500
_TOKEN = 40
_PATIENCE = ("ThrottlingException", "TooManyRequestsException", "ServiceQuotaExceededException")
_DENIED = ("AccessDeniedException", "UnrecognizedClientException", "ExpiredTokenException")
_STATES = {
    "SUBMITTED": JobState.RUNNING,
    "PENDING": JobState.RUNNING,
    "SCHEDULED": JobState.RUNNING,
    "QUEUED": JobState.RUNNING,
    "RUNNING": JobState.RUNNING,
    "CANCELLING": JobState.STOPPING,
    "CANCELLED": JobState.STOPPED,
    "SUCCESS": JobState.STOPPED,
    "FAILED": JobState.DEAD,
}


def job_state(state: str) -> JobState:
    """A word that AWS may add one day is no reason to start a second job."""
    return _STATES.get(state, JobState.UNKNOWN)


def error_of(code: str, status: int, text: str, settings: EmrServerlessSettings) -> MillraceError:
    """Of an answer that AWS refuses with; every text has the way out that there is."""
    said = f"runner emr-serverless: {text}"
    if status >= _SERVERS_FAULT or code in _PATIENCE:
        return RunnerUnreachableError(said)
    if code == "ConflictException":
        return GenerationTakenError(said)
    if code == "ResourceNotFoundException":
        return RunnerRefusedError(
            f"{said}; is application={settings.application!r} right? It stands under"
            " emr_serverless: in infra/local.yaml"
        )
    if code in _DENIED:
        return RunnerRefusedError(
            f"{said}; who calls has to be allowed emr-serverless:StartJobRun, GetJobRun,"
            f" ListJobRuns and CancelJobRun, and iam:PassRole of {settings.role}"
        )
    return RunnerRefusedError(said)


def grace_s(timeout_s: float) -> int:
    return int(min(max(timeout_s, _GRACE_S.start), _GRACE_S.stop - 1))


def log_folder(bucket: Bucket, application: str, run: str) -> str:
    """Below what `logUri` says, AWS chooses the names."""
    return f"{bucket.uri}/logs/applications/{application}/jobs/{run}"


def start_request(job: JobSpec, settings: EmrServerlessSettings, bucket: Bucket) -> dict[str, Any]:
    """StartJobRun's arguments. Equal jobs of one generation give equal requests."""
    name = names_of(job).of(job.generation)
    submit = {"entryPoint": main_file(job, settings), "entryPointArguments": arguments(job)}
    tags = {f"millrace:{job.noun}": job.id, "millrace:generation": str(job.generation)}
    return {
        **_request(name, settings.role, submit, job.engine, settings, bucket),
        "mode": "STREAMING",
        # One attempt. Supervision starts a dead job again, as the next generation and within its
        # budget; a second attempt of this one would find its generation taken.
        "retryPolicy": {"maxFailedAttemptsPerHour": 1},
        "tags": tags,
    }


def task_request(
    task: TaskSpec, module: str, place: str, settings: EmrServerlessSettings, bucket: Bucket
) -> dict[str, Any]:
    """Of a task whose files lie at `place`."""
    kind = module.rpartition(".")[2]
    told = [f"{place}/{task.spec_file.name}", bucket.model_dump_json(exclude_defaults=True)]
    submit = {"entryPoint": file_of(module, settings), "entryPointArguments": told}
    role = settings.roles.get(kind, settings.role)
    name = f"{task.pipeline}-{task.folder.name}"
    return {
        **_request(name, role, submit, task.engine, settings, bucket),
        # A name may be longer than AWS's tokens.
        "clientToken": hashlib.sha256(place.encode()).hexdigest()[:_TOKEN],
        "tags": {"millrace:pipeline": task.pipeline, "millrace:task": kind},
    }


def _request(
    name: str,
    role: str,
    submit: dict[str, Any],
    engine: EngineSpec,
    settings: EmrServerlessSettings,
    bucket: Bucket,
) -> dict[str, Any]:
    return {
        "applicationId": settings.application,
        # Asked twice, it is one run: an answer that was lost doubles nothing.
        "clientToken": name,
        "name": name,
        "executionRoleArn": role,
        "jobDriver": {"sparkSubmit": submit},
        "configurationOverrides": {
            # Not `sparkSubmitParameters`: one string, in which options with spaces need quotes.
            "applicationConfiguration": [
                {"classification": "spark-defaults", "properties": _properties(engine, settings)}
            ],
            "monitoringConfiguration": {
                "s3MonitoringConfiguration": {"logUri": f"{_s3(bucket.uri)}/logs/"}
            },
        },
    }


def _properties(engine: EngineSpec, settings: EmrServerlessSettings) -> dict[str, str]:
    return {
        **launch_settings(engine, settings),
        "spark.driver.memory": engine.memory,
        "spark.driver.cores": "1",
        "spark.executor.memory": engine.memory,
        "spark.executor.cores": str(settings.cores),
        "spark.executor.instances": str(settings.executors),
        "spark.dynamicAllocation.enabled": "false",
        "spark.emr-serverless.driverEnv.PYTHONPATH": str(settings.home),
        "spark.executorEnv.PYTHONPATH": str(settings.home),
    }


def _s3(uri: str) -> str:
    return uri.replace(SCHEME, "s3://", 1)
