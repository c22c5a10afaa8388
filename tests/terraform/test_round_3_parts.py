"""The parts fit each other: what one names is there, and is what the code says it is."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from millrace.cloud.core.cloud_check import WantedEnvironment, find_gaps
from millrace.cloud.io.release import name_release
from millrace.cloud.io.terraform_outputs import read_outputs
from millrace.ingest.core.ingest_beat import IngestBeat
from millrace.jobs.core.heartbeat import Phase
from millrace.lake.core import bronze
from millrace.pipelines.io.loader import load_pipelines, load_sites
from millrace.platform.core.platform import Platform
from millrace.provisioning.core.site_rights import Acl, Operation, Resource
from millrace.relay.core.central_rights import wanted_at_central
from millrace.settings.core.metrics import Metrics
from millrace.settings.core.remotes import EmrServerlessSettings
from millrace.sites.core.central import Central
from millrace.storage.core.bucket import RemoteStore
from tests.terraform.conftest import CHECKOUT
from tests.terraform.support.cloud import Cloud
from tests.terraform.support.tool import Terraform

NAME = "millrace-dev"
BEAT = IngestBeat(
    job="any", generation=1, fingerprint="", phase=Phase.RUNNING, at=datetime.now(UTC)
)


@pytest.fixture(scope="module")
def told(dev: Terraform) -> dict[str, Any]:
    return dev.output()


def test_brokers_listen_to_nobody_in_plain_text(cloud: Cloud, dev: Terraform) -> None:
    cluster = cloud.client("kafka").list_clusters_v2()["ClusterInfoList"][0]["Provisioned"]
    assert cluster["EncryptionInfo"]["EncryptionInTransit"] == {
        "ClientBroker": "TLS",
        "InCluster": True,
    }
    assert cluster["ClientAuthentication"]["Unauthenticated"]["Enabled"] is False
    assert len(cluster["BrokerNodeGroupInfo"]["ClientSubnets"]) == 3


def test_brokers_know_every_user(cloud: Cloud, told: dict[str, Any]) -> None:
    kafka = cloud.client("kafka")
    cluster = kafka.list_clusters_v2()["ClusterInfoList"][0]["ClusterArn"]
    secrets = kafka.list_scram_secrets(ClusterArn=cluster)["SecretArnList"]
    users = {cloud.login(arn)["username"] for arn in secrets}
    assert users == {"ingest", "app", "plant-a", "plant-b"}


def test_a_sites_rights_are_said_in_our_words(told: dict[str, Any]) -> None:
    acls = {Acl.model_validate(acl) for acl in told["sites"]["plant-a"]["acls"]}
    topic = {"user": "plant-a", "resource": Resource.TOPIC, "name": "plant-a.temperature-data"}
    assert Acl(operation=Operation.WRITE, **topic) in acls
    assert {acl.user for acl in acls} == {"plant-a"}
    assert {acl.name for acl in acls if acl.operation == Operation.READ} == {
        "relay-offsets-plant-a"
    }


def test_airflow_finds_its_release(cloud: Cloud, told: dict[str, Any]) -> None:
    s3 = cloud.client("s3")
    release = told["airflow"]["release"]
    bucket = next(
        one["Name"] for one in s3.list_buckets()["Buckets"] if one["Name"].startswith(f"{NAME}-air")
    )
    keys = {one["Key"] for one in s3.list_objects_v2(Bucket=bucket)["Contents"]}
    assert {f"releases/{release}/{name}" for name in ("plugins.zip", "requirements.txt")} < keys
    assert f"releases/{release}/dags/pipelines/temperature.yaml" in keys


def test_a_runner_is_told_what_it_asks_for(told: dict[str, Any]) -> None:
    settings = EmrServerlessSettings.model_validate(told["local"]["emr_serverless"])
    store = RemoteStore.model_validate(told["local"]["store"])
    assert settings.role == told["jobs"]["role_arns"]["ingest"]
    assert store.bucket.startswith("millrace-dev-lake-")


def test_all_that_pipelines_need_is_there_but_the_image(
    cloud: Cloud, dev: Terraform, tmp_path: Path
) -> None:
    file, layout = tmp_path / "told.json", Platform(cloud.copy)
    file.write_text(dev("output", "-json"))
    asked = WantedEnvironment(
        environment="dev",
        release=name_release(layout),
        pipelines=tuple(load_pipelines(layout, run_here=False)),
        sites=tuple(load_sites(layout)),
    )
    gaps = find_gaps(asked, read_outputs(layout, "dev", file))
    assert [gap.what for gap in gaps] == ["jobs have no image"]


def test_a_sites_rights_are_what_airflow_would_make(cloud: Cloud, told: dict[str, Any]) -> None:
    layout, central = Platform(cloud.copy), Central.model_validate(told["local"]["central"])
    pipelines = load_pipelines(layout, run_here=False)
    for site in load_sites(layout):
        wanted = wanted_at_central(central, site, pipelines)
        bundle = told["sites"][site.name]
        assert {Acl.model_validate(acl) for acl in bundle["acls"]} == {
            acl for acl in wanted.acls if acl.user == site.name
        }
        assert [*bundle["topics"], f"relay-offsets-{site.name}"] == [
            topic.name for topic in wanted.topics
        ]


def test_jobs_run_where_brokers_are(cloud: Cloud, told: dict[str, Any]) -> None:
    spark = cloud.client("emr-serverless")
    network = spark.get_application(applicationId=told["local"]["emr_serverless"]["application"])[
        "application"
    ]
    cluster = cloud.client("kafka").list_clusters_v2()["ClusterInfoList"][0]["Provisioned"]
    subnets = network["networkConfiguration"]["subnetIds"]
    assert set(subnets) == set(cluster["BrokerNodeGroupInfo"]["ClientSubnets"])
    assert network["releaseLabel"].startswith("emr-spark-8.")


def test_the_catalogue_says_what_bronze_has(cloud: Cloud, told: dict[str, Any]) -> None:
    glue = cloud.client("glue")
    table = glue.get_table(DatabaseName="millrace_dev_bronze", Name="temperature")["Table"]
    columns = [(one["Name"], one["Type"]) for one in table["StorageDescriptor"]["Columns"]]
    keys = [(one["Name"], one["Type"]) for one in table["PartitionKeys"]]
    assert [*columns, *keys] == list(bronze.COLUMNS)
    location = f"s3://{told['local']['store']['bucket']}/lake/bronze/temperature/"
    assert table["StorageDescriptor"]["Location"] == location


def test_the_registry_has_the_schema_of_messages(cloud: Cloud, dev: Terraform) -> None:
    schema = {"RegistryName": NAME, "SchemaName": "temperature-data"}
    newest = cloud.client("glue").get_schema_version(
        SchemaId=schema, SchemaVersionNumber={"LatestVersion": True}
    )
    file = CHECKOUT / "schemas" / "1-temperature-data.avsc"
    assert json.loads(newest["SchemaDefinition"]) == json.loads(file.read_text())


def test_every_alarm_is_told_and_watches_what_is_there(cloud: Cloud, told: dict[str, Any]) -> None:
    topics = [one["TopicArn"] for one in cloud.client("sns").list_topics()["Topics"]]
    alarms = cloud.client("cloudwatch").describe_alarms()["MetricAlarms"]
    assert {alarm["AlarmName"] for alarm in alarms} >= {
        f"{NAME}-temperature-lag",
        f"{NAME}-temperature-freshness",
        f"{NAME}-failed-jobs",
    }
    assert all(alarm["AlarmActions"] == topics for alarm in alarms)
    of_pipelines = [one for one in alarms if one["Dimensions"][0]["Name"] == "pipeline"]
    metrics = Metrics.model_validate(told["local"]["metrics"])
    assert {(one["Namespace"], one["MetricName"]) for one in of_pipelines} == {
        (metrics.namespace, name) for name in BEAT.measures(BEAT.at)
    }
    watched = {d["Value"] for alarm in alarms for d in alarm["Dimensions"]}
    assert {"temperature", told["local"]["emr_serverless"]["application"], NAME} <= watched


def test_the_dashboard_can_be_read(cloud: Cloud, dev: Terraform) -> None:
    board = cloud.client("cloudwatch").get_dashboard(DashboardName=NAME)
    widgets = json.loads(board["DashboardBody"])["widgets"]
    assert len({(one["x"], one["y"]) for one in widgets}) == len(widgets) == 6


def test_nothing_is_open_to_the_world(cloud: Cloud, dev: Terraform) -> None:
    groups = cloud.client("ec2").describe_security_groups()["SecurityGroups"]
    ours = [group for group in groups if group["GroupName"].startswith(NAME)]
    ranges = {
        one["CidrIp"]
        for group in ours
        for rule in (*group["IpPermissions"], *group["IpPermissionsEgress"])
        for one in rule["IpRanges"]
    }
    assert len(ours) == 4
    assert ranges == {"10.40.0.0/16"}
