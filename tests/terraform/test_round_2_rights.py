"""Who may do what, judged by the very policies that were applied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.terraform.conftest import CHECKOUT
from tests.terraform.support.cloud import Cloud
from tests.terraform.support.policy import Call, is_allowed
from tests.terraform.support.tool import Terraform

JOBS = ("ingest", "replay", "backfill", "quality", "continuity", "maintain")
LAYERS = ("bronze", "silver", "quarantine")
# Which job may write rows of which layer, and delete them.
WRITES = {
    "ingest": LAYERS,
    "replay": LAYERS,
    "backfill": ("silver", "quarantine"),
    "quality": (),
    "continuity": (),
    "maintain": LAYERS,
}
DELETES = {"maintain": LAYERS}
READS = {**dict.fromkeys(JOBS, LAYERS), "quality": ("silver",)}
KAFKA = ("ingest", "replay", "continuity")
ROWS = "temperature/day=2026-01-01/part-1.parquet"
CHECKPOINT = "checkpoints/temperature/plant-a/offsets/7"
TLS = {"aws:SecureTransport": "true"}


@pytest.fixture(scope="module")
def told(dev: Terraform) -> dict[str, Any]:
    return dev.output()


def _may(cloud: Cloud, job: str, action: str, key: str, context: Mapping[str, str] = TLS) -> bool:
    """What the job's role and the lake's bucket say together."""
    bucket = _lake(cloud)
    statements = [*cloud.statements(f"millrace-dev-job-{job}"), *cloud.bucket_statements(bucket)]
    resource = f"arn:aws:s3:::{bucket}/{key}" if key else f"arn:aws:s3:::{bucket}"
    return is_allowed(statements, Call(action, resource, context))


def _lake(cloud: Cloud) -> str:
    names = [bucket["Name"] for bucket in cloud.client("s3").list_buckets()["Buckets"]]
    return next(str(name) for name in names if name.startswith("millrace-dev-lake"))


def test_every_job_has_a_role(told: dict[str, Any]) -> None:
    """Each file of spark_jobs that can be run by itself."""
    files = (CHECKOUT / "spark_jobs").rglob("*.py")
    run = {file.stem for file in files if 'if __name__ == "__main__"' in file.read_text()}
    assert set(told["jobs"]["role_arns"]) == run == set(JOBS)


@pytest.mark.parametrize("job", JOBS)
def test_a_job_reads_writes_and_deletes_what_its_code_does(
    job: str, cloud: Cloud, dev: Terraform
) -> None:
    def layers(action: str) -> tuple[str, ...]:
        return tuple(one for one in LAYERS if _may(cloud, job, action, f"lake/{one}/{ROWS}"))

    done = layers("s3:GetObject"), layers("s3:PutObject"), layers("s3:DeleteObject")
    assert done == (READS[job], WRITES[job], DELETES.get(job, ()))


@pytest.mark.parametrize("job", JOBS)
def test_the_stream_alone_writes_its_checkpoint(job: str, cloud: Cloud, dev: Terraform) -> None:
    assert _may(cloud, job, "s3:PutObject", CHECKPOINT) == (job == "ingest")


@pytest.mark.parametrize("job", JOBS)
def test_a_job_says_how_it_does(job: str, cloud: Cloud, dev: Terraform) -> None:
    assert _may(cloud, job, "s3:PutObject", "jobs/temperature/heartbeat.json")
    assert _may(cloud, job, "s3:PutObject", "logs/applications/1/jobs/2/SPARK_DRIVER/stderr.gz")


@pytest.mark.parametrize("job", JOBS)
@pytest.mark.parametrize("key", ["other/secret.txt", "lake/bronze", "lakeside/bronze/t"])
def test_nothing_lies_outside_of_the_prefixes(
    job: str, key: str, cloud: Cloud, dev: Terraform
) -> None:
    assert not _may(cloud, job, "s3:GetObject", key)
    assert not _may(cloud, job, "s3:ListBucket", "", {**TLS, "s3:prefix": key.split("/")[0] + "x"})


def test_what_is_plain_text_or_under_another_key_is_refused(cloud: Cloud, dev: Terraform) -> None:
    header = "s3:x-amz-server-side-encryption-aws-kms-key-id"
    key, rows = {**TLS, header: "arn:aws:kms:eu-central-1:1:key/other"}, f"lake/bronze/{ROWS}"
    assert _may(cloud, "ingest", "s3:PutObject", rows)
    assert not _may(cloud, "ingest", "s3:PutObject", rows, {"aws:SecureTransport": "false"})
    assert not _may(cloud, "ingest", "s3:PutObject", rows, key)


@pytest.mark.parametrize(("job", "may"), [(job, job in KAFKA) for job in JOBS])
def test_who_reads_kafka_has_its_login(
    job: str, may: bool, cloud: Cloud, told: dict[str, Any]
) -> None:
    call = Call("secretsmanager:GetSecretValue", told["jobs"]["secret_arn"])
    assert is_allowed(cloud.statements(f"millrace-dev-job-{job}"), call) == may


def test_airflow_starts_jobs_with_their_roles_alone(cloud: Cloud, told: dict[str, Any]) -> None:
    airflow = cloud.statements("millrace-dev-airflow")
    spark = {"iam:PassedToService": "emr-serverless.amazonaws.com"}
    for role in told["jobs"]["role_arns"].values():
        assert is_allowed(airflow, Call("iam:PassRole", role, spark))
    assert not is_allowed(airflow, Call("iam:PassRole", told["airflow"]["role_arn"], spark))
    lambdas = {"iam:PassedToService": "lambda.amazonaws.com"}
    assert not is_allowed(airflow, Call("iam:PassRole", role, lambdas))


def test_airflow_starts_watches_and_ends_runs(cloud: Cloud, told: dict[str, Any]) -> None:
    airflow, ours = cloud.statements("millrace-dev-airflow"), _application(cloud, told)
    for action in ("StartJobRun", "ListJobRuns"):
        assert is_allowed(airflow, Call(f"emr-serverless:{action}", ours))
    # A run is tagged as it is started.
    for action in ("TagResource", "GetJobRun", "CancelJobRun"):
        assert is_allowed(airflow, Call(f"emr-serverless:{action}", f"{ours}/jobruns/1"))
    assert not is_allowed(airflow, Call("emr-serverless:DeleteApplication", ours))


def test_airflow_writes_down_starts_and_forgets_old_ones(cloud: Cloud, dev: Terraform) -> None:
    airflow, root = cloud.statements("millrace-dev-airflow"), f"arn:aws:s3:::{_lake(cloud)}"
    spec, note = (f"{root}/jobs/temperature/{name}" for name in ("generations/1.json", "job.json"))
    assert is_allowed(airflow, Call("s3:PutObject", spec))
    task = f"{root}/jobs/temperature/tasks/20260101T000000.000-maintain/result.json"
    for gone in (spec, task):
        assert is_allowed(airflow, Call("s3:DeleteObject", gone))
    assert not is_allowed(airflow, Call("s3:DeleteObject", note))


def test_airflow_makes_a_table_and_writes_no_row(cloud: Cloud, dev: Terraform) -> None:
    airflow, table = cloud.statements("millrace-dev-airflow"), "lake/bronze/temperature"
    root = f"arn:aws:s3:::{_lake(cloud)}/{table}"
    first, second = (f"{root}/_delta_log/{number:020}.json" for number in (0, 1))
    assert is_allowed(airflow, Call("s3:PutObject", first))
    assert not is_allowed(airflow, Call("s3:PutObject", second))
    assert not is_allowed(airflow, Call("s3:PutObject", f"{root}/part-1.parquet"))


def test_airflow_makes_topics_and_rights_and_reads_no_message(cloud: Cloud, dev: Terraform) -> None:
    airflow = cloud.statements("millrace-dev-airflow")
    cluster = cloud.client("kafka").list_clusters_v2()["ClusterInfoList"][0]["ClusterArn"]
    topic = f"{cluster.replace(':cluster/', ':topic/')}/plant-a.temperature-data"
    for action in ("Connect", "DescribeCluster", "AlterCluster"):
        assert is_allowed(airflow, Call(f"kafka-cluster:{action}", cluster))
    for action in ("CreateTopic", "DescribeTopic", "AlterTopic", "AlterTopicDynamicConfiguration"):
        assert is_allowed(airflow, Call(f"kafka-cluster:{action}", topic))
    for action in ("ReadData", "WriteData", "DeleteTopic"):
        assert not is_allowed(airflow, Call(f"kafka-cluster:{action}", topic))


@pytest.mark.parametrize(
    ("who", "namespace", "may"),
    [
        ("job-ingest", "Millrace", True),
        ("job-ingest", "Others", False),
        ("airflow", "Millrace", False),
    ],
)
def test_a_job_alone_tells_how_it_does(
    who: str, namespace: str, may: bool, cloud: Cloud, dev: Terraform
) -> None:
    call = Call("cloudwatch:PutMetricData", "*", {"cloudwatch:namespace": namespace})
    assert is_allowed(cloud.statements(f"millrace-dev-{who}"), call) == may


@pytest.mark.parametrize(("topic", "may"), [("plant-a", True), ("plant-b", False)])
def test_a_site_writes_under_its_own_name_alone(
    topic: str, may: bool, cloud: Cloud, told: dict[str, Any]
) -> None:
    statements = cloud.policy(told["sites"]["plant-a"]["policy_arn"])["Statement"]
    cluster = cloud.client("kafka").list_clusters_v2()["ClusterInfoList"][0]["ClusterArn"]
    resource = f"{cluster.replace(':cluster/', ':topic/')}/{topic}.temperature-data"
    assert is_allowed(statements, Call("kafka-cluster:WriteData", resource)) == may
    assert not is_allowed(statements, Call("kafka-cluster:ReadData", resource))


def test_a_role_is_taken_by_our_application_alone(cloud: Cloud, told: dict[str, Any]) -> None:
    role = cloud.client("iam").get_role(RoleName="millrace-dev-job-ingest")["Role"]
    trust = [{**one, "Resource": "*"} for one in role["AssumeRolePolicyDocument"]["Statement"]]
    ours = _application(cloud, told)
    account = {"aws:SourceAccount": ours.split(":")[4]}
    assert is_allowed(trust, Call("sts:AssumeRole", "*", {**account, "aws:SourceArn": ours}))
    theirs = {**account, "aws:SourceArn": f"{ours}x"}
    assert not is_allowed(trust, Call("sts:AssumeRole", "*", theirs))


def _application(cloud: Cloud, told: dict[str, Any]) -> str:
    client = cloud.client("emr-serverless")
    found = client.get_application(applicationId=told["local"]["emr_serverless"]["application"])
    return str(found["application"]["arn"])
