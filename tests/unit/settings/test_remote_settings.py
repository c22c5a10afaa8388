"""Settings of runners on other machines, and the ways into a cluster."""

from __future__ import annotations

import base64
from pathlib import Path

import httpx
import pytest
import yaml

from millrace.base.errors import RunnerRefusedError, SpecErrors
from millrace.jobs.io.runners.kube_access import KubeAccess, read_kubeconfig
from millrace.pipelines.io.loader import load_pipelines
from millrace.platform.io.environment import Settings
from millrace.settings.core.paths import HOME_VARIABLE

STORE = "store: {kind: s3, bucket: plant-data}\n"
CLUSTER = "kubernetes: {namespace: m, image: i, service_account: s, secret: l%s}\n"
EMR = "emr_serverless: {application: 00f1abc, role: 'arn:aws:iam::123456789012:role/job'}\n"
PIPELINE = """\
name: temperature
sites: all
topics: [t]
format: json
table: temperature
runner: %s
"""


def settings(home: Path, text: str, runner: str = "local") -> Settings:
    for folder in ("dags/pipelines", "dags/sites", "infra"):
        (home / folder).mkdir(parents=True)
    (home / "dags/sites/plant-a.yaml").write_text("name: plant-a\nbootstrap: 127.0.0.1:9092\n")
    (home / "dags/pipelines/temperature.yaml").write_text(PIPELINE % runner)
    (home / "infra/local.yaml").write_text(text)
    return Settings.from_env({HOME_VARIABLE: str(home)})


def test_relative_paths_start_from_the_checkout_and_home_is_elsewhere(tmp_path: Path) -> None:
    made = settings(tmp_path, STORE + CLUSTER % ", kubeconfig: infra/kube, home: /srv/millrace")
    assert made.layout.remotes.kubernetes
    assert made.layout.remotes.kubernetes.kubeconfig == tmp_path / "infra" / "kube"
    assert made.layout.remotes.kubernetes.home == Path("/srv/millrace")
    assert made.layout.remotes.emr_serverless is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("emr_serverless: {application: 00f1abc}\n", "emr_serverless.role"),
        ("emr_serverless: {application: 00f1abc, role: admin}\n", "emr_serverless.role='admin'"),
        (CLUSTER % ", api_server: 'http://x'", "kubernetes.api_server='http://x'"),
        (CLUSTER % ", kubeconfig: k, token_file: t", "write one or the other"),
        (CLUSTER % ", nmespace: x", "kubernetes.nmespace"),
    ],
)
def test_a_mistake_is_named_with_its_key(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(SpecErrors, match=r"local\.yaml:1") as raised:
        settings(tmp_path, text)
    assert says in str(raised.value)


@pytest.mark.parametrize(
    ("runner", "text", "says"),
    [
        ("mainframe", STORE, "runner 'mainframe' is not installed; write one of: emr-serverless"),
        ("kubernets", STORE, "did you mean 'kubernetes'?"),
        ("kubernetes", STORE, "write kubernetes: with namespace, image"),
        ("emr-serverless", EMR, "name a bucket under store:"),
    ],
)
def test_a_runner_that_cannot_work_is_named_with_its_line(
    tmp_path: Path, runner: str, text: str, says: str
) -> None:
    layout = settings(tmp_path, text, runner).layout
    with pytest.raises(SpecErrors, match=r"temperature\.yaml:6") as raised:
        load_pipelines(layout)
    assert says in str(raised.value)


def test_a_runner_that_is_set_up_is_taken(tmp_path: Path) -> None:
    layout = settings(tmp_path, STORE + EMR, "emr-serverless").layout
    assert [one.runner for one in load_pipelines(layout)] == ["emr-serverless"]


def kubeconfig(folder: Path, user: dict[str, str]) -> Path:
    ca = base64.b64encode(b"a certificate").decode()
    cluster = {"server": "https://k.example:6443", "certificate-authority-data": ca}
    file = folder / "config"
    context = {"cluster": "plant", "user": "airflow"}
    config = {
        "current-context": "there",
        "contexts": [{"name": "there", "context": context}],
        "clusters": [{"name": "plant", "cluster": cluster}],
        "users": [{"name": "airflow", "user": user}],
    }
    file.write_text(yaml.safe_dump(config))
    return file


def signed(access: KubeAccess) -> str:
    request = access.sign(httpx.Request("GET", "https://k.example"))
    return request.headers.get("Authorization", "")


def test_a_kubeconfig_names_cluster_and_token(tmp_path: Path) -> None:
    access = read_kubeconfig(kubeconfig(tmp_path, {"token": "t-1"}))
    assert (access.server, access.ca_text) == ("https://k.example:6443", "a certificate")
    assert signed(access) == "Bearer t-1"
    assert "t-1" not in repr(access)


def test_a_token_file_is_read_again_for_each_request(tmp_path: Path) -> None:
    access = read_kubeconfig(kubeconfig(tmp_path, {"tokenFile": "token"}))
    for token in ("first", "second"):
        (tmp_path / "token").write_text(token + "\n")
        assert signed(access) == f"Bearer {token}"


def test_a_kubeconfig_that_cannot_be_used_tells_what_can(tmp_path: Path) -> None:
    with pytest.raises(RunnerRefusedError, match=r"the user's exec.*a token, a tokenFile"):
        read_kubeconfig(kubeconfig(tmp_path, {"exec": "aws"}))
    with pytest.raises(RunnerRefusedError, match="No such file"):
        read_kubeconfig(tmp_path / "nowhere")
    (tmp_path / "config").write_text("clusters: []")
    with pytest.raises(RunnerRefusedError, match="is not one"):
        read_kubeconfig(tmp_path / "config")


def test_a_token_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunnerRefusedError, match="token_file="):
        signed(KubeAccess("https://k.example", token_file=tmp_path / "nowhere"))
