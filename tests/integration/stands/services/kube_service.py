"""The part of Kubernetes' API that the runner uses, with a Spark operator behind it.

It keeps objects, validates them as release 2.4.0 of the operator describes them, and runs a real
process for each driver.
"""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from kubeflow_spark_api.models.spark_v1beta2_spark_application import SparkV1beta2SparkApplication
from pydantic import ValidationError

from tests.integration.stands.services.https_service import Answer, Asked
from tests.integration.stands.services.stand_in import StandIn

TOKEN = "token-of-the-tests"
_APPLICATIONS = re.compile(
    r"/apis/sparkoperator\.k8s\.io/v1beta2/namespaces/millrace/sparkapplications(?:/([^/]+))?"
)
_PODS = re.compile(r"/api/v1/namespaces/millrace/pods/([^/]+)-driver(/log)?")
# What the custom resource's schema says beside the types of its fields.
_CHOICES = {
    "type": {"Java", "Python", "Scala", "R"},
    "mode": {"cluster", "client"},
    "pythonVersion": {"2", "3"},
}
Object = dict[str, Any]


class Refused(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def validate(application: Object) -> None:
    """Raises Refused as `fieldValidation=Strict` does, also for a field that does not exist."""
    try:
        known = SparkV1beta2SparkApplication.from_dict(application)
    except ValidationError as error:
        raise Refused(422, str(error)) from error
    if known is None or known.to_dict() != application:
        raise Refused(400, "strict decoding error: unknown field")
    for key, choices in _CHOICES.items():
        if application["spec"][key] not in choices:
            raise Refused(422, f"spec.{key}: Unsupported value")


@dataclass
class Cluster:
    home: Path
    applications: dict[str, Object] = field(default_factory=dict)
    processes: dict[str, StandIn] = field(default_factory=dict)
    _one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, asked: Asked) -> Answer:
        with self._one_at_a_time:
            try:
                status, said = self._answer(asked)
            except Refused as refused:
                status, said = refused.status, {"kind": "Status", "message": str(refused)}
        if isinstance(said, str):
            return status, "text/plain", said.encode()
        return status, "application/json", json.dumps(said).encode()

    def _answer(self, asked: Asked) -> tuple[int, Object | str]:
        if asked.headers.get("Authorization") != f"Bearer {TOKEN}":
            raise Refused(401, "Unauthorized")
        url = urlsplit(asked.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        body = json.loads(asked.body) if asked.body else {}
        self._operate()
        if found := _APPLICATIONS.fullmatch(url.path):
            return self._of_applications(asked.method, found[1], query, body)
        if found := _PODS.fullmatch(url.path):
            return self._of_pods(asked.method, found[1], bool(found[2]), query, body)
        raise Refused(404, "the server could not find the requested resource")

    def _of_applications(
        self, method: str, name: str | None, query: dict[str, str], body: Object
    ) -> tuple[int, Object]:
        match method, name:
            case "POST", None:
                return 201, self._create(body, query)
            case "GET", None:
                return 200, {"items": self._list(query["labelSelector"])}
            case "GET", str(one):
                return 200, self._get(one)
            case "DELETE", str(one):
                return 200, self._delete(one, body)
        raise Refused(405, "the server does not allow this method")

    def _create(self, wanted: Object, query: dict[str, str]) -> Object:
        assert query == {"fieldValidation": "Strict"}
        validate(wanted)
        name = wanted["metadata"]["name"]
        if name in self.applications:
            raise Refused(409, f'sparkapplications "{name}" already exists')
        spec = wanted["spec"]
        main = Path(urlsplit(spec["mainApplicationFile"]).path)
        log = self.home / f"{name}.log"
        self.processes[name] = StandIn.start(main, spec["arguments"], log)
        self.applications[name] = wanted
        return wanted

    def _list(self, selector: str) -> list[Object]:
        key, _, value = selector.partition("=")
        return [
            one for one in self.applications.values() if one["metadata"]["labels"][key] == value
        ]

    def _get(self, name: str) -> Object:
        if name not in self.applications:
            raise Refused(404, f'sparkapplications "{name}" not found')
        return self.applications[name]

    def _delete(self, name: str, options: Object) -> Object:
        gone = self._get(name)
        if options.get("propagationPolicy") == "Foreground":
            gone["metadata"]["deletionTimestamp"] = _now()
        else:
            del self.applications[name]
        grace_s = gone["spec"]["driver"]["terminationGracePeriodSeconds"]
        self.processes[name].end(grace_s)
        return gone

    def _of_pods(
        self, method: str, run: str, log: bool, query: dict[str, str], options: Object
    ) -> tuple[int, Object | str]:
        process = self.processes.get(run)
        if process is None or run not in self.applications:
            raise Refused(404, f'pods "{run}-driver" not found')
        if log:
            lines = process.log.read_text().splitlines(keepends=True)
            return 200, "".join(lines[-int(query["tailLines"]) :])
        if method == "DELETE":
            process.end(options["gracePeriodSeconds"])
        return 200, _pod(process)

    def _operate(self) -> None:
        """What operator and garbage collector did since the last request."""
        for name, one in list(self.applications.items()):
            code = self.processes[name].exit_code
            if code is None:
                state = "RUNNING"
            elif "deletionTimestamp" in one["metadata"]:
                del self.applications[name]
                continue
            else:
                state = "FAILED" if code else "COMPLETED"
            known = one.get("status", {}).get("applicationState")
            if known != {"state": state}:
                one["status"] = {"applicationState": {"state": state}, "driverInfo": {}}
                if code is not None:
                    one["status"]["terminationTime"] = _now()


def _pod(process: StandIn) -> Object:
    began, code = process.began.isoformat(), process.exit_code
    if code is None:
        state, phase = {"running": {"startedAt": began}}, "Running"
    else:
        state, phase = {"terminated": {"exitCode": code}}, "Failed" if code else "Succeeded"
    return {"status": {"phase": phase, "containerStatuses": [{"state": state}]}}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
