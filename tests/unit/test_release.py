"""What Terraform takes to the cloud."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from millrace.core.layout import Layout
from millrace.tasks.release import pack

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    for name in ("dags", "plugins", "expectations", "schemas"):
        shutil.copytree(CHECKOUT / name, tmp_path / name)
    shutil.copytree(CHECKOUT / "src/millrace/core", tmp_path / "src/millrace/core")
    for name in ("pyproject.toml", "uv.lock"):
        shutil.copy(CHECKOUT / name, tmp_path)
    return Layout(tmp_path)


def test_equal_files_are_one_release(layout: Layout) -> None:
    first = pack(layout), (layout.release / "plugins.zip").read_bytes()
    assert (pack(layout), (layout.release / "plugins.zip").read_bytes()) == first


def test_another_pipeline_file_is_another_release(layout: Layout) -> None:
    before = pack(layout)
    file = layout.pipelines / "temperature.yaml"
    file.write_text(file.read_text() + "# Changed\n")
    after = pack(layout)
    assert after != before
    assert json.loads((layout.release / "plan.json").read_text())["release"] == after


def test_a_release_is_packed_where_its_runner_is_not_set_up(layout: Layout) -> None:
    file = layout.pipelines / "temperature.yaml"
    file.write_text(file.read_text().replace("runner: local", "runner: emr-serverless"))
    assert pack(layout)


def test_another_suite_is_another_release(layout: Layout) -> None:
    before = pack(layout)
    file = layout.expectations / "silver_temperature.json"
    file.write_text(file.read_text() + "\n")
    assert pack(layout) != before


def test_plugins_bring_our_package(layout: Layout) -> None:
    pack(layout)
    with zipfile.ZipFile(layout.release / "plugins.zip") as archive:
        names = set(archive.namelist())
    assert "millrace-0.1.0.dist-info/entry_points.txt" in names
    assert {"fleet_page.py", "millrace_airflow/operators.py", "millrace/core/job.py"} <= names


def test_what_airflow_brings_is_a_range_and_the_rest_exact(layout: Layout) -> None:
    pack(layout)
    first, *lines = (layout.release / "requirements.txt").read_text().splitlines()
    exact = [line.partition("==")[0] for line in lines if "==" in line]
    ranges = [line.partition(">=")[0] for line in lines if "==" not in line]
    assert first == '--constraint "/usr/local/airflow/dags/home/constraints.txt"'
    assert exact == [
        "aws-msk-iam-sasl-signer-python",
        "boto3",
        "confluent-kafka",
        "deltalake",
        "fastavro",
    ]
    assert ranges == ["pydantic", "pyyaml"]
