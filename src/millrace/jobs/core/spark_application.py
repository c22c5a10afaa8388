"""A job as the Spark operator of Kubernetes takes it, and what the operator's states mean."""

from __future__ import annotations

from typing import Any

from millrace.base.errors import MillraceError, RunnerRefusedError, RunnerUnreachableError
from millrace.jobs.core.remote_jobs import arguments, launch_settings, main_file, names_of
from millrace.jobs.core.spec import JobSpec, JobState
from millrace.settings.core.remotes import KubernetesSettings

API_VERSION = "sparkoperator.k8s.io/v1beta2"
SPARK_VERSION = "4.1.1"
GENERATION_LABEL, PREFIX_LABEL = "millrace.generation", "millrace.runs"
# A pod that gets no shorter time is killed after this one.
LONGEST_GRACE_S = 300
_SERVERS_FAULT, _ABSENT = 500, 404
_PATIENCE, _DENIED = (0, 429), (401, 403)
_STATES = {
    "": JobState.RUNNING,
    "SUBMITTED": JobState.RUNNING,
    "RUNNING": JobState.RUNNING,
    "RESUMING": JobState.RUNNING,
    "PENDING_RERUN": JobState.RUNNING,
    "INVALIDATING": JobState.RUNNING,
    "SUCCEEDING": JobState.RUNNING,
    "FAILING": JobState.RUNNING,
    "SUSPENDING": JobState.STOPPING,
    "SUSPENDED": JobState.STOPPED,
    "COMPLETED": JobState.STOPPED,
    "FAILED": JobState.DEAD,
    "SUBMISSION_FAILED": JobState.DEAD,
}


def job_state(state: str) -> JobState:
    """The operator's own UNKNOWN, and words it may learn one day, are no reason to start."""
    return _STATES.get(state, JobState.UNKNOWN)


def error_of(status: int, text: str, settings: KubernetesSettings) -> MillraceError:
    """Of an answer that Kubernetes refuses with; 0: there was none."""
    said = f"runner kubernetes: {text}"
    if status >= _SERVERS_FAULT or status in _PATIENCE:
        return RunnerUnreachableError(said)
    if status in _DENIED:
        return RunnerRefusedError(
            f"{said}; who calls needs a role in namespace {settings.namespace!r} that may create,"
            " get, list and delete sparkapplications, and get and delete pods and get pods/log"
        )
    if status == _ABSENT:
        return RunnerRefusedError(
            f"{said}; does the cluster have the Spark operator ({API_VERSION}) and the namespace"
            f" {settings.namespace!r}?"
        )
    return RunnerRefusedError(said)


def driver_pod(run: str) -> str:
    return f"{run}-driver"


def selector(prefix: str) -> str:
    """Of all that was ever started here of one job."""
    return f"{PREFIX_LABEL}={prefix.rstrip('-')}"


def manifest(job: JobSpec, settings: KubernetesSettings) -> dict[str, Any]:
    names = names_of(job)
    labels = {
        GENERATION_LABEL: str(job.generation),
        PREFIX_LABEL: names.prefix.rstrip("-"),
    }
    return {
        "apiVersion": API_VERSION,
        "kind": "SparkApplication",
        "metadata": {
            "name": names.of(job.generation),
            "namespace": settings.namespace,
            "labels": labels,
        },
        "spec": {
            "type": "Python",
            "pythonVersion": "3",
            "mode": "cluster",
            "sparkVersion": SPARK_VERSION,
            "image": settings.image,
            "mainApplicationFile": main_file(job, settings),
            "arguments": arguments(job),
            # Supervision starts a dead job again, as the next generation and within its budget.
            "restartPolicy": {"type": "Never"},
            "sparkConf": _spark_conf(job, settings),
            "volumes": _volumes(job, settings),
            "driver": {
                **_pod(job, settings, labels),
                "cores": 1,
                "serviceAccount": settings.service_account,
                "terminationGracePeriodSeconds": LONGEST_GRACE_S,
            },
            "executor": {
                **_pod(job, settings, labels),
                "cores": settings.cores,
                "instances": settings.executors,
            },
        },
    }


def _spark_conf(job: JobSpec, settings: KubernetesSettings) -> dict[str, str]:
    return {
        **launch_settings(job.engine, settings),
        # Driver and executors talk over the cluster's network; Spark makes up their secret.
        "spark.authenticate": "true",
        "spark.network.crypto.enabled": "true",
    }


def _pod(job: JobSpec, settings: KubernetesSettings, labels: dict[str, str]) -> dict[str, Any]:
    var = settings.home / "var"
    return {
        "memory": job.engine.memory,
        "labels": labels,
        "env": [{"name": "PYTHONPATH", "value": str(settings.home)}],
        "volumeMounts": [
            {"name": "logins", "mountPath": str(var / "secrets"), "readOnly": True},
            {"name": "ca", "mountPath": str(var / "pki"), "readOnly": True},
        ],
    }


def _volumes(job: JobSpec, settings: KubernetesSettings) -> list[dict[str, Any]]:
    """One Secret, whose keys cannot have slashes, as the two folders that a checkout has."""
    logins = [
        {"key": f"{one.site}.{one.user}.properties", "path": f"{one.user}/{one.site}.properties"}
        for one in job.logins
    ]
    ca = [{"key": "ca.pem", "path": "ca.pem"}]
    return [
        {"name": name, "secret": {"secretName": settings.secret, "items": items}}
        for name, items in (("logins", logins), ("ca", ca))
    ]
