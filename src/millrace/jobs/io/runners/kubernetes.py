"""The runner `kubernetes`: a job is a SparkApplication of the Kubeflow Spark operator."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

from millrace.base.errors import GenerationTakenError
from millrace.jobs.core.remote_jobs import RunNames
from millrace.jobs.core.spark_application import (
    API_VERSION,
    GENERATION_LABEL,
    driver_pod,
    job_state,
    manifest,
    selector,
)
from millrace.jobs.core.spec import JobSpec, JobState, JobStatus
from millrace.jobs.io.runners.kube_api import open_api
from millrace.jobs.io.runners.remote_runner import RemoteRunner, Run
from millrace.jobs.io.runners.setup import require
from millrace.platform.core.platform import Platform
from millrace.settings.core.remotes import KubernetesSettings

Object = dict[str, Any]
_ENDED = (JobState.STOPPED, JobState.DEAD)


class KubernetesRunner(RemoteRunner):
    def __init__(self, layout: Platform) -> None:
        settings, _ = require(layout.remotes.kubernetes, layout, "kubernetes")
        super().__init__(layout, Kubernetes(settings))


class Kubernetes:
    def __init__(self, settings: KubernetesSettings) -> None:
        self._settings = settings
        self._api = open_api(settings)
        space = settings.namespace
        self._applications = f"/apis/{API_VERSION}/namespaces/{space}/sparkapplications"
        self._pods = f"/api/v1/namespaces/{space}/pods"

    def submit(self, job: JobSpec) -> str:
        wanted = manifest(job, self._settings)
        name = str(wanted["metadata"]["name"])
        # One that is there already is this generation's: its start was asked for before.
        self._api.create(self._applications, wanted)
        if (made := self._get(name)) and "deletionTimestamp" in made["metadata"]:
            raise GenerationTakenError(f"runner kubernetes: {name} was deleted; start another")
        self._forget_older(wanted)
        return name

    def find_live(self, names: RunNames) -> Run | None:
        found = [
            Run(generation, one["metadata"]["name"])
            for one in self._api.list(self._applications, selector(names.prefix))
            if _state(one) not in _ENDED
            and (generation := names.generation(one["metadata"]["name"]))
        ]
        return max(found, key=lambda run: run.generation, default=None)

    def look(self, run: str) -> JobStatus:
        application = self._get(run)
        pod = self._api.get(f"{self._pods}/{driver_pod(run)}")
        if application is None:
            # What was deleted was asked to end; its driver may still be at it.
            return JobStatus(state=JobState.STOPPING if _runs(pod) else JobState.STOPPED)
        state = _state(application)
        status = application.get("status") or {}
        said = (status.get("applicationState") or {}).get("errorMessage", "")
        return JobStatus(
            state=state,
            since=_moment(status.get("terminationTime")) or _began(pod),
            exit_code=_exit_code(pod) if state in _ENDED else None,
            reason=said if state == JobState.DEAD else "",
        )

    def end(self, run: str, timeout_s: float) -> None:
        """The application goes when its driver has gone. The second call says how soon that is."""
        self._api.delete(f"{self._applications}/{run}", propagationPolicy="Foreground")
        grace_s = max(1, math.ceil(timeout_s))
        self._api.delete(f"{self._pods}/{driver_pod(run)}", gracePeriodSeconds=grace_s)

    def log_tail(self, run: str, lines: int) -> list[str]:
        log = self._api.text(f"{self._pods}/{driver_pod(run)}/log", tailLines=str(lines))
        return log.splitlines()

    def _get(self, run: str) -> Object | None:
        return self._api.get(f"{self._applications}/{run}")

    def _forget_older(self, newest: Object) -> None:
        """Of those that have ended, the cluster keeps the last one's log and reason."""
        prefix = newest["metadata"]["name"].rpartition("-")[0]
        before = int(newest["metadata"]["labels"][GENERATION_LABEL]) - 1
        for one in self._api.list(self._applications, selector(prefix)):
            is_old = int(one["metadata"]["labels"][GENERATION_LABEL]) < before
            if is_old and _state(one) in _ENDED:
                self._api.delete(f"{self._applications}/{one['metadata']['name']}")


def _state(application: Object) -> JobState:
    if "deletionTimestamp" in application["metadata"]:
        return JobState.STOPPING
    status = application.get("status") or {}
    return job_state((status.get("applicationState") or {}).get("state", ""))


def _runs(pod: Object | None) -> bool:
    return pod is not None and pod["status"].get("phase") in ("Pending", "Running")


def _driver(pod: Object | None, phase: str) -> Object:
    """What Kubernetes says of the driver's container in that phase of its life."""
    containers = (pod or {}).get("status", {}).get("containerStatuses") or [{}]
    found: Object = (containers[0].get("state") or {}).get(phase) or {}
    return found


def _began(pod: Object | None) -> datetime | None:
    """None while its image is fetched: it has not begun, and so is not silent either."""
    return _moment(_driver(pod, "running").get("startedAt"))


def _exit_code(pod: Object | None) -> int | None:
    code: int | None = _driver(pod, "terminated").get("exitCode")
    return code


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
