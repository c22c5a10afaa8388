"""MWAA: environments of a managed Airflow."""

from __future__ import annotations

from typing import Any, ClassVar

from tests.terraform.fake_aws.service import ACCOUNT, Json, Request, Service, Tags, not_found

_ENVIRONMENT = "/environments/([^/]+)"
_LOGS = ("DagProcessingLogs", "SchedulerLogs", "TaskLogs", "WebserverLogs", "WorkerLogs")
_SERVICE_ROLE = "aws-service-role/airflow.amazonaws.com/AWSServiceRoleForAmazonMWAA"
_DEFAULTS: dict[str, Any] = {
    "CreatedAt": 1.0,
    "Status": "AVAILABLE",
    "ServiceRoleArn": f"arn:aws:iam::{ACCOUNT}:role/{_SERVICE_ROLE}",
    "LastUpdate": {"CreatedAt": 1.0, "Status": "SUCCESS"},
    "WeeklyMaintenanceWindowStart": "SUN:03:30",
    "MinWebservers": 2,
    "MaxWebservers": 2,
    "EndpointManagement": "SERVICE",
    "WorkerReplacementStrategy": "FORCED",
}


class Mwaa(Service):
    routes: ClassVar = (
        ("PUT", _ENVIRONMENT, "create"),
        ("GET", _ENVIRONMENT, "describe"),
        ("PATCH", _ENVIRONMENT, "change"),
        ("DELETE", _ENVIRONMENT, "delete"),
        ("GET", "/tags/(.+)", "list_tags"),
        ("POST", "/tags/(.+)", "add_tags"),
        ("DELETE", "/tags/(.+)", "remove_tags"),
    )

    def __init__(self) -> None:
        self._environments: dict[str, Json] = {}
        self._tags = Tags()
        self.list_tags, self.add_tags = self._tags.list, self._tags.add
        self.remove_tags = self._tags.remove

    def create(self, request: Request, name: str) -> Json:
        arn = f"arn:aws:airflow:{request.region}:{ACCOUNT}:environment/{name}"
        own = {"Name": name, "Arn": arn, "WebserverUrl": f"{name}.airflow.test"}
        logs = _logs(request, name)
        self._tags.set(arn, request.body.get("Tags"))
        self._environments[name] = {**_DEFAULTS, **own, **request.body, **logs}
        return {"Arn": arn}

    def describe(self, _request: Request, name: str) -> Json:
        environment = self._environment(name)
        return {"Environment": {**environment, "Tags": self._tags.of(environment["Arn"])}}

    def change(self, request: Request, name: str) -> Json:
        environment = self._environment(name)
        logs = _logs(request, name) if "LoggingConfiguration" in request.body else {}
        environment.update(request.body | logs)
        return {"Arn": environment["Arn"]}

    def delete(self, _request: Request, name: str) -> Json:
        del self._environments[self._environment(name)["Name"]]
        return {}

    def _environment(self, name: str) -> Json:
        if name not in self._environments:
            raise not_found(name, "ResourceNotFoundException")
        return self._environments[name]


def _logs(request: Request, name: str) -> Json:
    """AWS makes a log group for each kind."""
    asked = request.body.get("LoggingConfiguration", {})
    prefix = f"arn:aws:logs:{request.region}:{ACCOUNT}:log-group:airflow-{name}"
    configuration = {
        kind: {
            "Enabled": False,
            "LogLevel": "INFO",
            **asked.get(kind, {}),
            "CloudWatchLogGroupArn": f"{prefix}-{kind.removesuffix('Logs')}",
        }
        for kind in _LOGS
    }
    return {"LoggingConfiguration": configuration}
