"""The release as it was deployed, run by the Airflow and the Python that MWAA has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.terraform.support.cloud import Cloud
from tests.terraform.support.managed_airflow import ManagedAirflow
from tests.terraform.support.tool import Terraform

NAME = "millrace-dev"
DAGS = """
import json, sys
from airflow.models.dagbag import DagBag
bag = DagBag(include_examples=False)
print(json.dumps({
    "python": list(sys.version_info[:2]), "errors": bag.import_errors, "dags": sorted(bag.dags),
    "pools": sorted({task.pool for dag in bag.dags.values() for task in dag.tasks}),
}))
"""
# As the task `deploy` does it.
DEPLOY = """
import json, os
from millrace.platform.io.environment import platform_here
from millrace.ingest.io.ingest_deployment import read_deployment
from millrace.deployments.io.keeper import Keeper
layout = platform_here()
outcome = Keeper(read_deployment(layout, "temperature"), layout).ensure()
print(json.dumps({"home": str(layout.home), **outcome.as_xcom()}, default=str))
"""


@pytest.fixture(scope="module")
def airflow(
    cloud: Cloud, dev: Terraform, tmp_path_factory: pytest.TempPathFactory
) -> ManagedAirflow:
    return ManagedAirflow.made(tmp_path_factory.mktemp("airflow"), cloud, NAME)


@pytest.fixture(scope="module")
def deployed(airflow: ManagedAirflow) -> dict[str, Any]:
    told: dict[str, Any] = airflow.ask(DEPLOY)
    return told


@pytest.fixture(scope="module")
def run(cloud: Cloud, deployed: dict[str, Any], dev: Terraform) -> dict[str, Any]:
    application = dev.output()["local"]["emr_serverless"]["application"]
    client = cloud.client("emr-serverless")
    runs = client.list_job_runs(applicationId=application)["jobRuns"]
    found: dict[str, Any] = client.get_job_run(applicationId=application, jobRunId=runs[0]["id"])
    return found["jobRun"]


def test_all_dags_are_imported(airflow: ManagedAirflow) -> None:
    told = airflow.ask(DAGS)
    assert (told["python"], told["errors"]) == ([3, 12], {})
    assert told["pools"] == ["default_pool"]
    assert {"pipeline.temperature", "quality.temperature", "maintain.temperature"} <= set(
        told["dags"]
    )


def test_airflow_has_what_the_release_asks_for(airflow: ManagedAirflow) -> None:
    text = (airflow.home / "requirements.txt").read_text()
    asked = [line.split()[0] for line in text.splitlines() if not line.startswith((" ", "--"))]
    unfit = airflow.ask(
        "import json; from importlib.metadata import version\n"
        "from packaging.requirements import Requirement\n"
        f"asked = [Requirement(line) for line in {asked!r}]\n"
        "print(json.dumps([str(one) for one in asked if version(one.name) not in one.specifier]))"
    )
    assert unfit == []


def test_a_job_is_started_with_its_role_and_its_words_in_the_lake(
    cloud: Cloud, deployed: dict[str, Any], run: dict[str, Any], dev: Terraform
) -> None:
    told = dev.output()
    assert (deployed["what"], deployed["generation"]) == ("started", 1)
    assert run["executionRole"] == told["jobs"]["role_arns"]["ingest"]
    spec = _spec(cloud, told)
    assert spec["tables"]["silver"] == f"s3a://{_bucket(told)}/lake/silver/temperature"
    assert spec["metrics"] == told["local"]["metrics"]


def test_a_job_is_told_where_its_login_is_and_has_no_password(
    cloud: Cloud, deployed: dict[str, Any], run: dict[str, Any], dev: Terraform
) -> None:
    told = dev.output()
    spec, secret = _spec(cloud, told), told["jobs"]["secret_arn"]
    assert {one["secret"] for one in spec["inputs"]} == {secret}
    assert {one["kafka"]["bootstrap.servers"] for one in spec["inputs"]} == {
        told["jobs"]["bootstrap"]
    }
    shown = json.dumps([spec, run], default=str)
    assert cloud.login(secret)["password"] not in shown


def test_a_job_reads_what_sites_write(
    cloud: Cloud, deployed: dict[str, Any], dev: Terraform
) -> None:
    told = dev.output()
    read = {topic for one in _spec(cloud, told)["inputs"] for topic in one["topics"]}
    assert read == {topic for site in told["sites"].values() for topic in site["topics"]}


def test_what_airflow_writes_lies_beside_what_the_bucket_overwrites(
    airflow: ManagedAirflow, deployed: dict[str, Any]
) -> None:
    home = Path(deployed["home"])
    assert (home / "var").is_dir()
    assert not (home / "var").resolve().is_relative_to(airflow.home / "dags")


def _bucket(told: dict[str, Any]) -> str:
    return str(told["local"]["store"]["bucket"])


def _spec(cloud: Cloud, told: dict[str, Any]) -> dict[str, Any]:
    found = cloud.client("s3").get_object(
        Bucket=_bucket(told), Key="jobs/temperature/generations/1.json"
    )
    spec: dict[str, Any] = json.loads(found["Body"].read())
    return spec
