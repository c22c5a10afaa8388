"""The runner `emr-serverless`: a job is a streaming job run of one application."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

from millrace.base.errors import MillraceError, RunnerRefusedError, RunnerUnreachableError
from millrace.jobs.core.emr_runs import (
    LIVE_STATES,
    error_of,
    grace_s,
    job_state,
    log_folder,
    start_request,
)
from millrace.jobs.core.remote_jobs import RunNames
from millrace.jobs.core.spec import JobSpec, JobState, JobStatus
from millrace.jobs.io.runners.remote_runner import RemoteRunner, Run
from millrace.jobs.io.runners.setup import require
from millrace.platform.core.platform import Platform
from millrace.settings.core.remotes import EmrServerlessSettings
from millrace.storage.core.bucket import Bucket
from millrace.storage.io.bucket_login import PATIENCE, login_of
from millrace.storage.io.objects import objects_at

_EXIT_CODE = re.compile(r"ExitCode: (\d+)")
_NO_KEYS = (
    "runner emr-serverless: no AWS credentials were found; give this machine a role, or name a"
    " file: emr_serverless.credentials_file in infra/local.yaml"
)


class EmrServerlessRunner(RemoteRunner):
    def __init__(self, layout: Platform) -> None:
        settings, bucket = require(layout.remotes.emr_serverless, layout, "emr-serverless")
        super().__init__(layout, EmrServerless(settings, bucket))


class EmrServerless:
    def __init__(self, settings: EmrServerlessSettings, bucket: Bucket) -> None:
        self._settings = settings
        self._bucket = bucket
        self._client = _client(
            settings.region or bucket.region,
            settings.endpoint,
            settings.ca_file,
            settings.credentials_file,
        )

    def submit(self, job: JobSpec) -> str:
        return self.submit_request(start_request(job, self._settings, self._bucket))

    def submit_request(self, request: dict[str, Any]) -> str:
        with self._errors_named():
            return str(self._client.start_job_run(**request)["jobRunId"])

    def find_live(self, names: RunNames) -> Run | None:
        with self._errors_named():
            pages = self._client.get_paginator("list_job_runs").paginate(
                applicationId=self._settings.application, states=LIVE_STATES, mode="STREAMING"
            )
            found = [
                Run(generation, summary["id"])
                for page in pages
                for summary in page["jobRuns"]
                if (generation := names.generation(summary.get("name", "")))
            ]
        return max(found, key=lambda run: run.generation, default=None)

    def look(self, run: str) -> JobStatus:
        with self._errors_named():
            answer = self._client.get_job_run(
                applicationId=self._settings.application, jobRunId=run
            )
        return _as_status(answer["jobRun"])

    def end(self, run: str, timeout_s: float) -> None:
        with self._errors_named():
            self._client.cancel_job_run(
                applicationId=self._settings.application,
                jobRunId=run,
                shutdownGracePeriodInSeconds=grace_s(timeout_s),
            )

    def log_tail(self, run: str, lines: int) -> list[str]:
        """The job's own words last: Spark writes to the one file, what it starts to the other."""
        folder = log_folder(self._bucket, self._settings.application, run)
        files = objects_at(f"{folder}/SPARK_DRIVER", self._bucket)
        found = [files.read_bytes(name) for name in ("stderr.gz", "stdout.gz")]
        return [line for packed in found if packed for line in _unpacked(packed)][-lines:]

    @contextmanager
    def _errors_named(self) -> Iterator[None]:
        try:
            yield
        except NoCredentialsError as error:
            raise RunnerRefusedError(_NO_KEYS) from error
        except BotoCoreError as error:
            raise RunnerUnreachableError(f"runner emr-serverless: {error}") from error
        except ClientError as error:
            raise self._named(error) from error

    def _named(self, error: ClientError) -> MillraceError:
        code = error.response.get("Error", {}).get("Code", "")
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return error_of(code, status, str(error), self._settings)


@cache
def _client(
    region: str, endpoint: str | None, ca_file: Path | None, credentials_file: Path | None
) -> Any:
    """Made once: supervision makes a runner for every look. Threads may share it."""
    return boto3.Session().client(
        "emr-serverless",
        region_name=region,
        endpoint_url=endpoint,
        verify=str(ca_file) if ca_file else None,
        config=Config(**PATIENCE),
        **login_of(credentials_file),
    )


def _unpacked(packed: bytes) -> list[str]:
    return gzip.decompress(packed).decode(errors="replace").splitlines()


def _as_status(run: dict[str, Any]) -> JobStatus:
    state = job_state(run["state"])
    ended = state in (JobState.STOPPED, JobState.DEAD)
    reason = str(run.get("stateDetails") or "")
    code = _EXIT_CODE.search(reason) if state == JobState.DEAD else None
    return JobStatus(
        state=state,
        # A run that waits for its workers has not begun, and so is not silent either.
        since=run.get("endedAt") or run.get("updatedAt") if ended else run.get("startedAt"),
        exit_code=int(code[1]) if code else None,
        reason=reason if state == JobState.DEAD else "",
    )
