"""What ends a shift, and what does not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pkgutil import resolve_name
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance
from airflow.triggers.base import BaseTrigger

from millrace.base.errors import MillraceError
from millrace.deployments.io.keeper import Keeper, utc_now
from millrace.deployments.io.watch import CHANGED, JobWatch
from millrace.ingest.io.ingest_deployment import read_deployment
from millrace.jobs.core.spec import JobState
from millrace.jobs.io.deployments import remember
from millrace.platform.core.platform import Platform
from millrace.storage.core.bucket import Bucket
from millrace_airflow.jobs.job_trigger import BudgetTrigger, JobTrigger
from tests.airflow.fakes import InMemoryRunner
from tests.airflow.jobs.test_ensure import edit, keeper, use_up_the_budget


def trigger(layout: Platform, kind: type[JobTrigger] = JobTrigger, hours: float = 1) -> JobTrigger:
    deployment = read_deployment(layout, "temperature")
    remember(layout, deployment)
    ends_at = (utc_now() + timedelta(hours=hours)).isoformat()
    return kind("ingest", "temperature", deployment.digest, ends_at, poll_s=0.01)


async def first_event(trigger: BaseTrigger, within_s: float = 5) -> dict[str, str]:
    async def wait() -> dict[str, str]:
        async for event in trigger.run():
            return event.payload
        raise AssertionError("the trigger ended without an event")

    return await asyncio.wait_for(wait(), within_s)


def event_after(trigger: BaseTrigger, change: Callable[[], None]) -> dict[str, str]:
    """The event that a change brings, made after the trigger has begun to look."""

    async def act() -> dict[str, str]:
        waiting = asyncio.create_task(first_event(trigger))
        await asyncio.sleep(0.1)
        assert not waiting.done()
        change()
        return await waiting

    return asyncio.run(act())


@pytest.mark.parametrize("kind", [JobTrigger, BudgetTrigger])
def test_a_trigger_survives_being_written_and_read(kind: type[JobTrigger]) -> None:
    before = kind("ingest", "temperature", "abc", utc_now().isoformat(), poll_s=3)
    path, arguments = before.serialize()
    after = resolve_name(path)(**arguments)
    assert type(after) is kind
    assert after.serialize() == before.serialize()


def test_a_changed_file_ends_the_shift(layout: Platform) -> None:
    event = event_after(trigger(layout), lambda: edit(layout, "table: temperature", "table: heat"))
    assert event["status"] == "changed"


def test_a_value_that_the_job_never_sees_ends_the_shift_too(layout: Platform) -> None:
    event = event_after(
        trigger(layout), lambda: edit(layout, "format: json", "format: json\npartitions: 9")
    )
    assert event["status"] == "changed"


def test_a_stack_that_comes_up_with_its_tables_elsewhere_ends_the_shift(layout: Platform) -> None:
    """Nothing may start before the tables are provisioned there."""
    watched_in_folder = read_deployment(layout, "temperature").digest
    elsewhere = replace(layout, bucket=Bucket(name="lake"))
    ends_at = utc_now() + timedelta(hours=1)
    assert (
        JobWatch("ingest", "temperature", watched_in_folder, ends_at, elsewhere).look() == CHANGED
    )
    assert InMemoryRunner.calls == []


def test_a_shift_ends_by_itself(layout: Platform) -> None:
    assert asyncio.run(first_event(trigger(layout, hours=-1)))["status"] == "handover"
    assert "stop" not in InMemoryRunner.calls


def test_a_broken_file_changes_nothing(layout: Platform, caplog: pytest.LogCaptureFixture) -> None:
    watcher = trigger(layout)

    async def act() -> None:
        with pytest.raises(TimeoutError):
            await first_event(watcher, within_s=0.3)

    edit(layout, "sites: [plant-a]", "sites: [nowhere]")
    asyncio.run(act())
    assert InMemoryRunner.calls == ["start"]
    assert "nowhere" in caplog.text


def test_a_file_that_goes_away_changes_nothing(layout: Platform) -> None:
    watcher = trigger(layout)
    (layout.pipelines / "temperature.yaml").unlink()
    with pytest.raises(TimeoutError):
        asyncio.run(first_event(watcher, within_s=0.3))
    assert InMemoryRunner.calls == ["start"]


def test_a_dead_job_is_started_without_ending_the_shift(layout: Platform) -> None:
    keeper(layout).ensure()
    InMemoryRunner.die("temperature", exit_code=137)
    with pytest.raises(TimeoutError):
        asyncio.run(first_event(trigger(layout), within_s=0.3))
    assert InMemoryRunner.calls == ["start", "start"]


def test_a_job_that_dies_too_often_ends_the_shift_with_its_reason(layout: Platform) -> None:
    use_up_the_budget(layout)
    event = asyncio.run(first_event(trigger(layout)))
    assert event["status"] == "failed"
    assert "restarts_per_hour: 2" in event["reason"]
    assert "OutOfMemoryError" in event["reason"]


def test_a_job_that_cannot_be_started_ends_the_shift(layout: Platform) -> None:
    InMemoryRunner.start_error = MillraceError("Java 17 is missing")
    event = asyncio.run(first_event(trigger(layout)))
    assert event == {"status": "failed", "reason": "Java 17 is missing"}


def test_a_used_up_budget_is_waited_for_until_a_file_changes(layout: Platform) -> None:
    use_up_the_budget(layout)
    event = event_after(
        trigger(layout, BudgetTrigger),
        lambda: edit(layout, "restarts_per_hour: 2", "restarts_per_hour: 3"),
    )
    assert event["status"] == "changed"
    assert InMemoryRunner.calls == ["start"] * 3


def test_a_kill_by_a_person_stops_the_job_for_good(layout: Platform) -> None:
    watcher = trigger(layout)

    async def act() -> None:
        waiting = asyncio.create_task(first_event(watcher))
        await asyncio.sleep(0.1)
        await watcher.on_kill()
        await asyncio.sleep(0.1)
        waiting.cancel()

    asyncio.run(act())
    assert InMemoryRunner.calls == ["start", "stop"]


@pytest.mark.parametrize(
    ("rows", "calls"),
    [({}, ["start"]), ({"r": {"supervise": "failed"}}, ["start", "stop"])],
    ids=["taken away", "marked"],
)
def test_a_task_that_a_clean_of_the_database_took_leaves_its_job_alone(
    layout: Platform, monkeypatch: pytest.MonkeyPatch, rows: dict[str, Any], calls: list[str]
) -> None:
    monkeypatch.setattr(RuntimeTaskInstance, "get_task_states", lambda **_: rows)
    keeper(layout).ensure()
    watcher = trigger(layout)
    watcher.task_instance = SimpleNamespace(
        dag_id="pipeline.temperature", run_id="r", task_id="supervise"
    )
    asyncio.run(watcher.on_kill())
    assert InMemoryRunner.calls == calls


def test_a_kill_that_is_interrupted_is_carried_through(layout: Platform) -> None:
    watcher = trigger(layout)
    keeper(layout).ensure()
    InMemoryRunner.stop_takes_s = 0.3

    async def act() -> None:
        killing = asyncio.create_task(watcher.on_kill())
        await asyncio.sleep(0.1)
        killing.cancel()
        await watcher.cleanup()

    asyncio.run(act())
    assert InMemoryRunner.jobs["temperature"].state == JobState.STOPPED


def test_cleaning_up_leaves_the_job_alone(layout: Platform) -> None:
    watcher = trigger(layout)
    Keeper(read_deployment(layout, "temperature"), layout).ensure()
    asyncio.run(watcher.cleanup())
    assert InMemoryRunner.calls == ["start"]
