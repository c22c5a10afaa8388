"""An Airflow of its own in a temporary folder, and a checkout with one pipeline."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

# Airflow reads its home when it is first imported, which collecting the tests does.
REPOSITORY = Path(__file__).resolve().parents[2]
_AIRFLOW_HOME = tempfile.TemporaryDirectory(prefix="millrace-airflow-tests-")
os.environ.update(
    AIRFLOW_HOME=_AIRFLOW_HOME.name,
    AIRFLOW__CORE__DAGS_FOLDER=str(REPOSITORY / "dags"),
    AIRFLOW__CORE__PLUGINS_FOLDER=str(REPOSITORY / "plugins"),
    AIRFLOW__CORE__LOAD_EXAMPLES="False",
    AIRFLOW__CORE__UNIT_TEST_MODE="False",
    AIRFLOW__API_AUTH__JWT_SECRET="of-the-tests-alone-" + "0123456789" * 5,
    AIRFLOW__API__BASE_URL="http://testserver",
    AIRFLOW__DATABASE__SQL_ALCHEMY_CONN=f"sqlite:///{_AIRFLOW_HOME.name}/airflow.db",
)

from millrace_airflow.base.host import SHARES_STREAMS  # noqa: E402 - it imports Airflow

# What the DAG is made of cannot be imported elsewhere; test_host.py sees that it is not there.
collect_ignore = [] if SHARES_STREAMS else ["incidents/test_incident.py"]

PIPELINE = """\
name: temperature
sites: [plant-a]
topics: [temperature-data]
format: json
table: temperature
supervise: {restarts_per_hour: 2}
runner: memory
"""
REFINED = """\
name: temperature
sites: [plant-a]
topics: [temperature-data]
format: json
table: temperature
columns:
  sensor_id: {type: string, from: $.sensor_id, required: true}
  measured_at: {type: timestamp, from: $.timestamp, required: true}
  value: {type: double, from: $.temperature, required: true}
  unit: {type: string, from: $.unit}
event_time: measured_at
quality: expectations/silver_temperature.json
runner: memory
"""
SITE = """\
name: plant-a
bootstrap: 127.0.0.1:9092
"""
ENTRY_POINTS = """\
[millrace.kinds]
counting = tests.counting:CountingKind

[millrace.runners]
memory = tests.airflow.fakes:InMemoryRunner
"""


@pytest.fixture(scope="session", autouse=True)
def entry_points(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The fake runner and a second kind of job are installed as real ones would be."""
    folder = tmp_path_factory.mktemp("installed")
    info = folder / "fake_runner-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fake-runner\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    yield
    sys.path.remove(str(folder))


@pytest.fixture(scope="session")
def database() -> None:
    """Made as Airflow's models say; migrating to them would take a minute."""
    from airflow import settings
    from airflow.utils.db import initdb

    settings.configure_orm()
    initdb()


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from millrace.platform.core.platform import Platform
    from tests.airflow.fakes import InMemoryRunner

    InMemoryRunner.reset()
    layout = Platform(tmp_path)
    layout.pipelines.mkdir(parents=True)
    layout.sites.mkdir(parents=True)
    (layout.pipelines / "temperature.yaml").write_text(PIPELINE)
    (layout.sites / "plant-a.yaml").write_text(SITE)
    monkeypatch.setenv("MILLRACE_HOME", str(tmp_path))
    return layout
