"""MSK: clusters, their SCRAM secrets, and configurations."""

from __future__ import annotations

import uuid
from typing import ClassVar

from tests.terraform.fake_aws.kafka_cluster import Cluster, flat, new_cluster
from tests.terraform.fake_aws.kafka_configuration import Configuration
from tests.terraform.fake_aws.service import (
    ACCOUNT,
    AwsError,
    Json,
    Request,
    Service,
    Tags,
    not_found,
)

_CLUSTERS, _CLUSTER = "/(?:api/v2|v1)/clusters", "/(?:api/v2|v1)/clusters/([^/]+)"
_CONFIGURATION = "/v1/configurations/([^/]+)"


class Kafka(Service):
    routes: ClassVar = (
        ("POST", _CLUSTERS, "create_cluster"),
        ("GET", _CLUSTERS, "list_clusters"),
        ("GET", "/v1/clusters/([^/]+)", "describe_flat"),
        ("GET", "/api/v2/clusters/([^/]+)", "describe"),
        ("DELETE", _CLUSTER, "delete_cluster"),
        ("GET", f"{_CLUSTER}/bootstrap-brokers", "bootstrap_brokers"),
        ("GET", f"{_CLUSTER}/scram-secrets", "list_secrets"),
        ("POST", f"{_CLUSTER}/scram-secrets", "add_secrets"),
        ("PATCH", f"{_CLUSTER}/scram-secrets", "remove_secrets"),
        ("PUT", f"{_CLUSTER}/(.+)", "change_cluster"),
        ("GET", "/(?:api/v2|v1)/operations/([^/]+)", "describe_operation"),
        ("POST", "/v1/configurations", "create_configuration"),
        ("GET", _CONFIGURATION, "describe_configuration"),
        ("PUT", _CONFIGURATION, "change_configuration"),
        ("DELETE", _CONFIGURATION, "delete_configuration"),
        ("GET", f"{_CONFIGURATION}/revisions/([0-9]+)", "describe_revision"),
        ("GET", "/v1/tags/(.+)", "list_tags"),
        ("POST", "/v1/tags/(.+)", "add_tags"),
        ("DELETE", "/v1/tags/(.+)", "remove_tags"),
    )

    def __init__(self) -> None:
        self._clusters: dict[str, Cluster] = {}
        self._configurations: dict[str, Configuration] = {}
        self._tags = Tags()
        self.list_tags, self.add_tags = self._tags.list, self._tags.add
        self.remove_tags = self._tags.remove

    def create_cluster(self, request: Request) -> Json:
        name = request.body["clusterName"]
        arn = _arn(request, "cluster", name)
        self._clusters[arn] = new_cluster(arn, request.region, request.body)
        self._tags.set(arn, request.body.get("tags"))
        return {"clusterArn": arn, "clusterName": name, "state": "CREATING"}

    def list_clusters(self, _request: Request) -> Json:
        return {"clusterInfoList": [self._tagged(cluster) for cluster in self._clusters.values()]}

    def describe(self, _request: Request, arn: str) -> Json:
        return {"clusterInfo": self._tagged(self._cluster(arn))}

    def describe_flat(self, _request: Request, arn: str) -> Json:
        """The older call's answer has no level `provisioned`."""
        return {"clusterInfo": flat(self._tagged(self._cluster(arn)))}

    def delete_cluster(self, _request: Request, arn: str) -> Json:
        del self._clusters[self._cluster(arn).arn]
        return {"clusterArn": arn, "state": "DELETING"}

    def bootstrap_brokers(self, _request: Request, arn: str) -> Json:
        return self._cluster(arn).bootstrap_brokers()

    def list_secrets(self, _request: Request, arn: str) -> Json:
        return {"secretArnList": self._cluster(arn).secrets}

    def add_secrets(self, request: Request, arn: str) -> Json:
        cluster = self._cluster(arn)
        cluster.secrets = sorted({*cluster.secrets, *request.body["secretArnList"]})
        return {"clusterArn": arn, "unprocessedScramSecrets": []}

    def remove_secrets(self, request: Request, arn: str) -> Json:
        cluster = self._cluster(arn)
        cluster.secrets = sorted({*cluster.secrets} - {*request.body["secretArnList"]})
        return {"clusterArn": arn, "unprocessedScramSecrets": []}

    def change_cluster(self, request: Request, arn: str, what: str) -> Json:
        cluster = self._cluster(arn)
        cluster.change(what, request.body)
        operation = _arn(request, "cluster-operation", cluster.name)
        return {"clusterArn": arn, "clusterOperationArn": operation}

    def describe_operation(self, _request: Request, arn: str) -> Json:
        done = {"operationArn": arn, "operationState": "UPDATE_COMPLETE"}
        return {"clusterOperationInfo": done}

    def create_configuration(self, request: Request) -> Json:
        arn = _arn(request, "configuration", request.body["name"])
        self._configurations[arn] = Configuration(arn, [request.body])
        return self._configurations[arn].describe()

    def describe_configuration(self, _request: Request, arn: str) -> Json:
        return self._configuration(arn).describe()

    def change_configuration(self, request: Request, arn: str) -> Json:
        self._configuration(arn).revisions.append(request.body)
        return self._configuration(arn).describe()

    def delete_configuration(self, _request: Request, arn: str) -> Json:
        del self._configurations[self._configuration(arn).arn]
        return {"arn": arn, "state": "DELETING"}

    def describe_revision(self, _request: Request, arn: str, number: str) -> Json:
        return self._configuration(arn).describe_revision(int(number))

    def _cluster(self, arn: str) -> Cluster:
        if arn not in self._clusters:
            raise not_found(arn)
        return self._clusters[arn]

    def _configuration(self, arn: str) -> Configuration:
        if arn not in self._configurations:
            raise AwsError(400, "BadRequestException", "Configuration ARN does not exist")
        return self._configurations[arn]

    def _tagged(self, cluster: Cluster) -> Json:
        return {**cluster.info, "tags": self._tags.of(cluster.arn)}


def _arn(request: Request, kind: str, name: str) -> str:
    return f"arn:aws:kafka:{request.region}:{ACCOUNT}:{kind}/{name}/{uuid.uuid4()}-1"
