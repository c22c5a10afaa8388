"""What a pipeline is deployed from is what its watch looks at: one list of files."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from millrace.deployments.io.keeper import utc_now
from millrace.deployments.io.watch import CHANGED, JobWatch
from millrace.ingest.io.ingest_deployment import read_deployment
from millrace.jobs.io.deployments import remember
from millrace.pipelines.io.deployed_files import deployed_files
from millrace.platform.core.platform import Platform
from tests.airflow.conftest import REFINED, REPOSITORY

NEW_SCHEMA = '{"type": "record", "name": "Reading", "fields": [{"name": "v", "type": "int"}]}'


@pytest.fixture
def refined(layout: Platform) -> Platform:
    """A pipeline with a file of every kind."""
    for folder in (layout.schemas, layout.expectations):
        shutil.copytree(REPOSITORY / folder.name, folder)
    pipeline = REFINED.replace("format: json", "format: avro")
    (layout.pipelines / "temperature.yaml").write_text(pipeline)
    return layout


@pytest.fixture
def watch(refined: Platform) -> JobWatch:
    deployment = read_deployment(refined, "temperature")
    remember(refined, deployment)
    watch = JobWatch(
        "ingest", "temperature", deployment.digest, utc_now() + timedelta(hours=1), refined
    )
    assert watch.look() is None
    return watch


def replace_text(file: Path, old: str, new: str) -> None:
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


CHANGES: dict[str, Callable[[Platform], None]] = {
    "pipeline": lambda at: replace_text(
        at.pipelines / "temperature.yaml", "event_time: measured_at\n", ""
    ),
    "site": lambda at: replace_text(at.sites / "plant-a.yaml", "9092", "9093"),
    "suite": lambda at: replace_text(
        at.expectations / "silver_temperature.json", '"max_value": 200', '"max_value": 150'
    ),
    "schema": lambda at: replace_text(
        at.schemas / "1-temperature-data.avsc", '"temperature"', '"heat"'
    ),
    "new schema": lambda at: (at.schemas / "9-of-tomorrow.avsc").write_text(NEW_SCHEMA) and None,
}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_changed_file_of_any_kind_is_deployed_at_once(
    kind: str, refined: Platform, watch: JobWatch
) -> None:
    CHANGES[kind](refined)
    assert watch.look() == CHANGED


def test_a_broken_suite_takes_nothing_away(refined: Platform, watch: JobWatch) -> None:
    replace_text(refined.expectations / "silver_temperature.json", '"expectations"', '"expected"')
    assert watch.look() is None


def test_a_file_of_another_pipeline_changes_nothing(refined: Platform, watch: JobWatch) -> None:
    suite = (refined.expectations / "silver_temperature.json").read_text()
    other = suite.replace("silver_temperature", "silver_other")
    (refined.expectations / "silver_other.json").write_text(other)
    assert watch.look() is None


def test_every_file_that_a_deployment_reads_is_watched(refined: Platform) -> None:
    with files_opened_below(refined.home) as opened:
        read_deployment(refined, "temperature")
    assert {file.suffix for file in opened} == {".yaml", ".json", ".avsc"}
    assert opened <= set(deployed_files(refined, "temperature"))


@contextmanager
def files_opened_below(folder: Path):
    opened: set[Path] = set()
    is_on = True

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if is_on and event == "open" and isinstance(arguments[0], str):
            file = Path(arguments[0])
            if file.is_relative_to(folder):
                opened.add(file)

    sys.addaudithook(hear)
    yield opened
    # A hook stays for the life of the process.
    is_on = False
