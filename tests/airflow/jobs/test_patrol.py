"""A job that runs on though nobody watches it is stopped; any other is left alone."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from millrace.deployments.io.keeper import Keeper, utc_now
from millrace.ingest.io.ingest_deployment import read_deployment
from millrace.jobs.core.condition import Condition
from millrace.jobs.core.spec import JobState
from millrace.jobs.io.deployments import remember
from millrace.jobs.io.mailbox import Mailbox
from millrace.platform.core.platform import Platform
from millrace_airflow.base.host import TaskDeferred
from millrace_airflow.jobs.patrol_operators import PatrolOperator, PatrolTrigger, run_unwatched
from tests.airflow.fakes import InMemoryRunner

LONG_AGO = utc_now() - timedelta(hours=1)


@pytest.fixture(autouse=True)
def running(layout: Platform) -> None:
    deployment = read_deployment(layout, "temperature")
    remember(layout, deployment)
    Keeper(deployment, layout).ensure()


def context(alive_runs: int) -> Any:
    def count(*, dag_id: str, states: list[str]) -> int:
        return (
            alive_runs if (dag_id, states) == ("pipeline.temperature", ["queued", "running"]) else 9
        )

    return {"ti": SimpleNamespace(get_dr_count=count)}


def operator() -> PatrolOperator:
    return PatrolOperator(task_id="look", shift=timedelta(hours=12))


def test_a_job_without_a_sign_of_its_watch_is_found(layout: Platform) -> None:
    Mailbox(layout.job("temperature")).write_watched(LONG_AGO)
    assert run_unwatched(layout, LONG_AGO, utc_now()) == ["temperature"]


def test_a_watched_job_is_not(layout: Platform) -> None:
    Mailbox(layout.job("temperature")).write_watched(utc_now())
    assert run_unwatched(layout, LONG_AGO, utc_now()) == []


def test_a_stopped_job_is_not(layout: Platform) -> None:
    Keeper(read_deployment(layout, "temperature"), layout).stop()
    assert run_unwatched(layout, LONG_AGO, utc_now()) == []


def test_the_trigger_tells_what_it_found(layout: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    found = "millrace_airflow.jobs.patrol_operators.run_unwatched"
    monkeypatch.setattr(found, lambda *_: ["temperature"])
    trigger = PatrolTrigger((utc_now() + timedelta(hours=1)).isoformat(), poll_s=0)
    assert asyncio.run(anext(trigger.run())).payload == ["temperature"]


def test_a_shift_ends_with_nothing_found(layout: Platform) -> None:
    trigger = PatrolTrigger(utc_now().isoformat(), poll_s=0)
    assert asyncio.run(anext(trigger.run())).payload == []


def test_a_job_whose_dag_has_no_run_is_stopped_and_it_is_written_down(layout: Platform) -> None:
    assert operator().resume(context(alive_runs=0), ["temperature"]) == ["temperature"]
    assert InMemoryRunner.jobs["temperature"].state == JobState.STOPPED
    note = Mailbox(layout.job("temperature")).read_journal().latest
    assert note is not None
    assert note.condition == Condition.STOPPED


def test_a_job_whose_run_goes_on_is_left_alone(layout: Platform) -> None:
    assert operator().resume(context(alive_runs=1), ["temperature"]) == []
    assert InMemoryRunner.jobs["temperature"].state == JobState.RUNNING


def test_the_task_waits_without_a_worker(layout: Platform) -> None:
    with pytest.raises(TaskDeferred) as waiting:
        operator().execute({})
    assert isinstance(waiting.value.trigger, PatrolTrigger)
