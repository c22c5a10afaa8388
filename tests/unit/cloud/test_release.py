"""What Terraform takes to the cloud."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from pathlib import Path

import pytest

from millrace.cloud.io.release import pack
from millrace.platform.core.platform import Platform

CHECKOUT = Path(__file__).parents[3]


@pytest.fixture
def layout(tmp_path: Path) -> Platform:
    for name in ("dags", "plugins", "expectations", "schemas"):
        shutil.copytree(CHECKOUT / name, tmp_path / name)
    shutil.copytree(CHECKOUT / "src/millrace/jobs", tmp_path / "src/millrace/jobs")
    for name in ("pyproject.toml", "uv.lock"):
        shutil.copy(CHECKOUT / name, tmp_path)
    return Platform(tmp_path)


def test_equal_files_are_one_release(layout: Platform) -> None:
    first = pack(layout), (layout.release / "plugins.zip").read_bytes()
    assert (pack(layout), (layout.release / "plugins.zip").read_bytes()) == first


def test_another_pipeline_file_is_another_release(layout: Platform) -> None:
    before = pack(layout)
    file = layout.pipelines / "temperature.yaml"
    file.write_text(file.read_text() + "# Changed\n")
    after = pack(layout)
    assert after != before
    assert json.loads((layout.release / "plan.json").read_text())["release"] == after


def test_a_release_is_packed_where_its_runner_is_not_set_up(layout: Platform) -> None:
    file = layout.pipelines / "temperature.yaml"
    file.write_text(file.read_text().replace("runner: local", "runner: emr-serverless"))
    assert pack(layout)


def test_another_suite_is_another_release(layout: Platform) -> None:
    before = pack(layout)
    file = layout.expectations / "silver_temperature.json"
    file.write_text(file.read_text() + "\n")
    assert pack(layout) != before


def test_plugins_bring_our_package(layout: Platform) -> None:
    pack(layout)
    with zipfile.ZipFile(layout.release / "plugins.zip") as archive:
        names = set(archive.namelist())
    assert "millrace-0.1.0.dist-info/entry_points.txt" in names
    assert {
        "fleet_page.py",
        "millrace_airflow/jobs/job_operators.py",
        "millrace/jobs/core/spec.py",
    } <= names


def test_all_that_a_managed_airflow_fetches_has_a_hash_and_nothing_of_its_own_is_named(
    layout: Platform,
) -> None:
    pack(layout)
    first, *rest = (layout.release / "requirements.txt").read_text().splitlines()
    assert first == '--constraint "/usr/local/airflow/dags/home/constraints.txt"'
    blocks = "\n".join(rest).replace("\\\n", " ").splitlines()
    packages = [block.split()[0] for block in blocks]
    assert [name.partition("==")[0] for name in packages] == [
        "arro3-core",
        "aws-msk-iam-sasl-signer-python",
        "boto3",
        "botocore",
        "confluent-kafka",
        "deltalake",
        "fastavro",
        "jmespath",
        "s3transfer",
    ]
    for block in blocks:
        name, *hashes = block.split()
        assert re.fullmatch(r"[a-z0-9-]+==[0-9.]+", name)
        assert hashes
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", one) for one in hashes)
    constraints = (layout.release / "home" / "constraints.txt").read_text().split()
    assert constraints == packages
