"""Logins come out of Secrets Manager, to each of a job's Kafka clients."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from millrace.kafka.core.kafka_client import central_java_settings, jaas_line
from millrace.secrets.io import aws_secrets
from millrace.sites.core.central import Central
from tests.terraform.conftest import CHECKOUT
from tests.terraform.support.cloud import Cloud
from tests.terraform.support.tool import Terraform

PYSPARK = CHECKOUT / ".venv-lake" / "lib" / "python3.11" / "site-packages" / "pyspark" / "jars"
CLASS_PATH = ":".join(f"{CHECKOUT / '.jars' / name}/*" for name in ("spark", "jvm"))
PROGRAM = Path(__file__).with_name("Login.java")


@pytest.fixture(scope="module")
def central(dev: Terraform) -> Central:
    return Central.model_validate(dev.output()["local"]["central"])


@pytest.fixture(scope="module")
def login(cloud: Cloud, central: Central) -> dict[str, str]:
    return cloud.login(central.secret)


def _environment(cloud: Cloud) -> dict[str, str]:
    return {key: value for key, value in cloud.environment.items() if key.startswith("AWS_")}


def _java(cloud: Cloud, settings: dict[str, str]) -> subprocess.CompletedProcess[str]:
    pairs = [f"{key}={value}" for key, value in settings.items()]
    return subprocess.run(
        ["java", "-cp", f"{CLASS_PATH}:{PYSPARK}/*", PROGRAM, *pairs],  # noqa: S607 - the PATH's
        env={**os.environ, **_environment(cloud)},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_kafka_client_of_the_jvm_is_given_it(
    cloud: Cloud, central: Central, login: dict[str, str]
) -> None:
    settings = central_java_settings(central)
    assert login["password"] not in str(settings)
    done = _java(cloud, settings)
    assert done.stdout.splitlines()[-1:] == [jaas_line(login["username"], login["password"])], (
        done.stderr[-2000:]
    )
    assert login["password"] not in done.stderr


def test_a_secret_of_another_form_is_named_and_not_shown(cloud: Cloud, central: Central) -> None:
    client = cloud.client("secretsmanager")
    arn = client.create_secret(Name="broken", SecretString="of-nobody")["ARN"]
    try:
        done = _java(cloud, central_java_settings(central.model_copy(update={"secret": arn})))
    finally:
        client.delete_secret(SecretId=arn, ForceDeleteWithoutRecovery=True)
    assert done.returncode != 0
    assert f"secret {arn} holds no JSON with username and password" in done.stderr
    assert "of-nobody" not in done.stderr


def test_a_kafka_client_of_python_is_given_it(
    cloud: Cloud, central: Central, login: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    aws_secrets._client.cache_clear()  # noqa: SLF001 - it may know another AWS
    for key, value in _environment(cloud).items():
        monkeypatch.setenv(key, value)
    told: dict[str, Any] = dict(aws_secrets.read_secret(central.secret))
    assert told == {key: login[key] for key in ("username", "password")}
