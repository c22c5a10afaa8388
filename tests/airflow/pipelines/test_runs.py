"""Whole runs of DAGs, in Airflow's own way of running one without a scheduler."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from millrace.deployments.io.keeper import Keeper
from millrace.ingest.io.ingest_deployment import read_deployment
from millrace.jobs.core.condition import Condition
from millrace.jobs.core.spec import JobState
from millrace.jobs.io.deployments import recall, remember
from millrace.jobs.io.mailbox import Mailbox
from millrace.platform.core.platform import Platform
from millrace_airflow.jobs import job_dag, patrol_operators
from millrace_airflow.jobs.job_dag import TASKS
from tests.airflow.bag import DagBag
from tests.airflow.conftest import REPOSITORY
from tests.airflow.fakes import InMemoryRunner

pytestmark = pytest.mark.usefixtures("database")


def run(file: str, dag_id: str) -> Any:
    return DagBag(dag_folder=REPOSITORY / "dags" / file).dags[dag_id].test()


@pytest.fixture
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shift of a second, and no patience with a task that fails."""
    shift = {"supervise": {"shift": timedelta(seconds=1)}}
    tasks = tuple(replace(task, arguments=shift.get(task.task_id, {})) for task in TASKS)
    monkeypatch.setattr(job_dag, "TASKS", tasks)


@pytest.mark.usefixtures("in_a_hurry")
def test_a_pipeline_runs_from_provision_to_handover(
    layout: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    monkeypatch.setattr(
        "millrace.provisioning.io.site_admin.provision_site",
        lambda site, *_: made.append(site.name) or [],
    )
    assert run("pipelines.py", "pipeline.temperature").state == "success"
    assert made == ["plant-a"]
    assert recall(layout, "temperature") == read_deployment(layout, "temperature")
    assert InMemoryRunner.calls == ["start"]
    note = Mailbox(layout.job("temperature")).read_journal().latest
    assert note is not None
    assert note.condition == Condition.STARTING


def test_the_patrol_asks_airflow_for_runs_and_stops_a_job_that_has_none(
    layout: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployment = read_deployment(layout, "temperature")
    remember(layout, deployment)
    Keeper(deployment, layout).ensure()
    at_once = partial(patrol_operators.PatrolTrigger, poll_s=0)
    monkeypatch.setattr(patrol_operators, "PatrolTrigger", at_once)
    monkeypatch.setattr(patrol_operators, "run_unwatched", lambda *_: ["temperature"])
    assert run("patrol.py", "patrol").state == "success"
    assert InMemoryRunner.jobs["temperature"].state == JobState.STOPPED
