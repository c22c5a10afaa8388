"""A change: another site, a new password for one, and with them another release."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.cloud.io.release import pack
from millrace.platform.core.platform import Platform
from tests.terraform.support.cloud import Cloud
from tests.terraform.support.tool import CHANGES, NOTHING_TO_DO, Terraform

OLD, NEW = "site_password_versions = {}", "site_password_versions = { plant-a = 2 }"


@pytest.fixture(scope="module")
def before(dev: Terraform) -> dict[str, Any]:
    return dev.output()


@pytest.fixture(scope="module")
def passwords(cloud: Cloud, before: dict[str, Any]) -> dict[str, str]:
    return _passwords(cloud, before)


@pytest.fixture(scope="module")
def after(cloud: Cloud, dev: Terraform, passwords: dict[str, str]) -> dict[str, Any]:
    layout, values = Platform(cloud.copy), dev.folder / "values.tf"
    (layout.sites / "plant-c.yaml").write_text("name: plant-c\nbootstrap: c.example:9092\n")
    pipeline = layout.pipelines / "temperature.yaml"
    pipeline.write_text(pipeline.read_text().replace("[plant-a, plant-b]", "all"))
    assert OLD in values.read_text()
    values.write_text(values.read_text().replace(OLD, NEW))
    pack(layout)
    assert dev.plan() == CHANGES
    dev("apply", "-auto-approve")
    return dev.output()


def _passwords(cloud: Cloud, told: dict[str, Any]) -> dict[str, str]:
    sites = told["sites"].items()
    return {site: cloud.login(bundle["secret_arn"])["password"] for site, bundle in sites}


def test_a_change_settles(dev: Terraform, after: dict[str, Any]) -> None:
    assert dev.plan() == NOTHING_TO_DO


def test_a_new_site_has_its_user(cloud: Cloud, after: dict[str, Any]) -> None:
    site = after["sites"]["plant-c"]
    assert site["topics"] == ["plant-c.temperature-data"]
    assert cloud.login(site["secret_arn"])["username"] == "plant-c"


def test_a_password_changes_when_it_is_asked_for(
    cloud: Cloud, passwords: dict[str, str], after: dict[str, Any]
) -> None:
    now = _passwords(cloud, after)
    changed = {site for site, password in passwords.items() if now[site] != password}
    assert changed == {"plant-a"}


def test_airflow_has_the_new_release_alone(
    cloud: Cloud, before: dict[str, Any], after: dict[str, Any]
) -> None:
    assert after["airflow"]["release"] != before["airflow"]["release"]
    s3 = cloud.client("s3")
    names = [one["Name"] for one in s3.list_buckets()["Buckets"]]
    bucket = next(name for name in names if name.startswith("millrace-dev-airflow"))
    keys = [one["Key"] for one in s3.list_objects_v2(Bucket=bucket)["Contents"]]
    assert {key.split("/")[1] for key in keys} == {after["airflow"]["release"]}
    assert f"releases/{after['airflow']['release']}/dags/sites/plant-c.yaml" in keys
