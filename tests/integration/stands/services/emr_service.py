"""EMR Serverless: moto's, with what moto lacks of streaming job runs by AWS's API reference.

A run is a real process here. Lacking in moto are mode, retry policy, idempotency by client token,
states that change, the grace period, and a list before the first run.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from moto.core.exceptions import JsonRESTError
from moto.core.request import Request
from moto.core.responses import ActionResult, PaginatedResult
from moto.emrserverless.exceptions import ValidationException
from moto.emrserverless.models import EMRServerlessBackend, JobRun
from moto.emrserverless.responses import EMRServerlessResponse

from millrace.storage.core.bucket import Bucket
from millrace.storage.io.buckets import client
from tests.integration.stands.services.https_service import Answer, Asked
from tests.integration.stands.services.stand_in import StandIn

ACCOUNT, REGION = "123456789012", "us-east-1"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/millrace-job"
# A second of a grace period lasts so long here.
SECOND_S = 1 / 30


class ConflictException(JsonRESTError):
    code = 409

    def __init__(self) -> None:
        super().__init__("ConflictException", "this token came with another request")


@dataclass
class Runs:
    """All that one test's service knows."""

    home: Path
    bucket: Bucket
    backend: EMRServerlessBackend = field(
        default_factory=lambda: EMRServerlessBackend(REGION, ACCOUNT)
    )
    requests: dict[str, tuple[dict[str, Any], str]] = field(default_factory=dict)
    processes: dict[str, StandIn] = field(default_factory=dict)

    def create_application(self) -> str:
        made = self.backend.create_application(
            name="millrace",
            release_label="emr-7.9.0",
            application_type="SPARK",
            client_token="one",
            initial_capacity="",
            maximum_capacity="",
            tags={},
            auto_start_configuration="",
            auto_stop_configuration="",
            network_configuration=None,
        )
        return str(made.id)

    def answer(self, asked: Asked) -> Answer:
        made = type("Response", (_Response,), {"runs": self})
        url = f"https://emr-serverless.{REGION}.amazonaws.com{asked.path}"
        request = Request.from_primitives(asked.method, url, asked.headers, asked.body)
        status, headers, body = made.dispatch(request)
        said = body if isinstance(body, bytes) else str(body).encode()
        # AWS names the error in a header.
        kind = headers.get("Content-Type", "application/json")
        return int(headers.get("status", status)), kind, said

    def start(self, run: JobRun) -> None:
        submit = run.job_driver["sparkSubmit"]
        main = Path(urlsplit(submit["entryPoint"]).path)
        log = self.home / f"{run.id}.log"
        self.processes[run.id] = StandIn.start(main, submit["entryPointArguments"], log)

    def refresh(self, run: JobRun) -> None:
        process = self.processes[run.id]
        code = process.exit_code
        run.started_at, run.updated_at = process.began, datetime.now(UTC)
        if code is None:
            run.state = "CANCELLING" if process.asked_to_end else "RUNNING"
        elif process.asked_to_end:
            run.state = "CANCELLED"
        else:
            run.state = "FAILED" if code else "SUCCESS"
            run.state_details = f"Job failed, please check complete logs. ExitCode: {code}."
        self._publish(run, process)

    def _publish(self, run: JobRun, process: StandIn) -> None:
        """Where `logUri` says; AWS does it every few seconds."""
        monitoring = run.configuration_overrides["monitoringConfiguration"]
        place = urlsplit(monitoring["s3MonitoringConfiguration"]["logUri"])
        folder = f"applications/{run.application_id}/jobs/{run.id}/SPARK_DRIVER"
        client(self.bucket).put_object(
            Bucket=place.netloc,
            Key=f"{place.path.strip('/')}/{folder}/stdout.gz",
            Body=gzip.compress(process.log.read_bytes()),
        )


class _Response(EMRServerlessResponse):
    runs: ClassVar[Runs]

    @property
    def emrserverless_backend(self) -> EMRServerlessBackend:
        return self.runs.backend

    def start_job_run(self) -> ActionResult:
        request, token = json.loads(self.body), self._get_param("clientToken")
        if token in self.runs.requests:
            return self._again(request, token)
        mode = request.get("mode", "BATCH")
        if mode == "STREAMING":
            _check_retries(request)
        if not 1 <= len(token) <= 64:
            raise ValidationException("clientToken: 1 to 64 characters")
        answer = super().start_job_run()
        run = self.runs.backend.job_runs[self._get_param("applicationId")][-1]
        run.mode, run.state = mode, "SUBMITTED"
        run.created_by = f"arn:aws:iam::{ACCOUNT}:user/airflow"
        self.runs.requests[token] = (request, run.id)
        self.runs.start(run)
        return answer

    def _again(self, request: dict[str, Any], token: str) -> ActionResult:
        before, run_id = self.runs.requests[token]
        if request != before:
            raise ConflictException
        application = self._get_param("applicationId")
        run = self.runs.backend.get_job_run(application, run_id)
        return ActionResult({"applicationId": application, "jobRunId": run_id, "arn": run.arn})

    def get_job_run(self) -> ActionResult:
        self._refresh()
        return super().get_job_run()

    def cancel_job_run(self) -> ActionResult:
        grace_s = int(self._get_param("shutdownGracePeriodInSeconds"))
        if grace_s != 0 and not 15 <= grace_s <= 1800:
            raise ValidationException("shutdownGracePeriodInSeconds: 0, or 15 to 1800")
        answer = super().cancel_job_run()
        self.runs.processes[self._get_param("jobRunId")].end(grace_s * SECOND_S)
        return answer

    def list_job_runs(self) -> PaginatedResult:
        application = self._get_param("applicationId")
        self.runs.backend.get_application(application)
        self.runs.backend.job_runs.setdefault(application, [])
        self._refresh()
        return super().list_job_runs()

    def _refresh(self) -> None:
        for run in self.runs.backend.job_runs.get(self._get_param("applicationId"), []):
            self.runs.refresh(run)


def _check_retries(request: dict[str, Any]) -> None:
    if not 1 <= request["retryPolicy"]["maxFailedAttemptsPerHour"] <= 10:
        raise ValidationException("maxFailedAttemptsPerHour must be between 1 and 10")
