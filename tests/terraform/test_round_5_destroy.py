"""Destroyed, with what was written meanwhile: nothing is left but the state."""

from __future__ import annotations

import pytest

from tests.terraform.support.cloud import STATE_BUCKET, Cloud
from tests.terraform.support.tool import Terraform


@pytest.fixture(scope="module")
def destroyed(cloud: Cloud, dev: Terraform) -> Terraform:
    bucket = dev.output()["local"]["store"]["bucket"]
    cloud.client("s3").put_object(Bucket=bucket, Key="lake/bronze/temperature/1", Body=b"rows")
    dev("destroy", "-auto-approve")
    return dev


def test_the_state_is_empty(destroyed: Terraform) -> None:
    assert destroyed("state", "list") == ""


def test_nothing_is_left(cloud: Cloud, destroyed: Terraform) -> None:
    buckets = [one["Name"] for one in cloud.client("s3").list_buckets()["Buckets"]]
    left = {
        "roles": cloud.client("iam").list_roles(PathPrefix="/")["Roles"],
        "secrets": cloud.client("secretsmanager").list_secrets()["SecretList"],
        "clusters": cloud.client("kafka").list_clusters_v2()["ClusterInfoList"],
        "repositories": cloud.client("ecr").describe_repositories()["repositories"],
        "alarms": cloud.client("cloudwatch").describe_alarms()["MetricAlarms"],
        "databases": cloud.client("glue").get_databases()["DatabaseList"],
    }
    assert buckets == [STATE_BUCKET]
    assert {kind for kind, found in left.items() if found} == set()
