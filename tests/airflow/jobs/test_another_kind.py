"""A job of a kind that Airflow's operators do not know lives through them as ingest does.

Its process is a real one, under the process manager.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from pkgutil import resolve_name
from types import SimpleNamespace
from typing import Any

import pytest

from millrace.deployments.io.keeper import utc_now
from millrace.jobs.core.heartbeat import Phase
from millrace.jobs.core.spec import JobState
from millrace.jobs.io.mailbox import Mailbox
from millrace_airflow.base.host import TaskDeferred
from millrace_airflow.jobs import job_dag
from millrace_airflow.jobs.job_operators import (
    DeployOperator,
    ProvisionOperator,
    SuperviseOperator,
)
from millrace_airflow.jobs.job_trigger import JobTrigger
from millrace_airflow.jobs.patrol_operators import PatrolOperator, run_unwatched
from tests import counting
from tests.airflow.pipelines.test_trigger import first_event
from tests.counting import CountBeat, CounterFile, count_in, plan_counter
from tests.integration.stands.services.runner_places import PIPELINE as JOB
from tests.integration.stands.services.runner_places import LocalPlace
from tests.support import wait_until

WHICH: Any = {"kind": counting.COUNTING, "job": JOB}
TASK = SimpleNamespace(
    try_number=1, max_tries=5, get_previous_dagrun=lambda: None, xcom_push=lambda **_: None
)
CONTEXT: Any = {"ti": TASK}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalPlace]:
    with LocalPlace.opened(tmp_path) as opened:
        monkeypatch.setenv("MILLRACE_HOME", str(tmp_path))
        (tmp_path / "counting.py").write_text(Path(counting.__file__).read_text())
        for folder in (opened.layout.pipelines, opened.layout.dags / "counters"):
            folder.mkdir(parents=True)
        write(opened, step=2)
        yield opened


def write(place: LocalPlace, step: int) -> None:
    text = f"name: {JOB}\nstep: {step}\nsupervise: {{restarts_per_hour: 2}}\n"
    (place.layout.dags / "counters" / f"{JOB}.yaml").write_text(text)


def beat(place: LocalPlace) -> CountBeat | None:
    return Mailbox(place.layout.job(JOB)).read_heartbeat(CountBeat)


def runs_as(place: LocalPlace, generation: int) -> bool:
    seen = beat(place)
    return seen is not None and (seen.generation, seen.phase) == (generation, Phase.RUNNING)


def count(place: LocalPlace) -> int:
    return count_in(plan_counter(CounterFile(name=JOB, step=0), place.layout))


def provision() -> list[str]:
    return ProvisionOperator(task_id="provision", **WHICH).execute(CONTEXT)


def deploy() -> dict[str, Any]:
    return DeployOperator(task_id="deploy", **WHICH).execute(CONTEXT)


def trigger() -> JobTrigger:
    """As the triggerer makes it of what the task left in the database."""
    operator = SuperviseOperator(task_id="supervise", shift=timedelta(hours=1), **WHICH)
    with pytest.raises(TaskDeferred) as waiting:
        operator.execute(CONTEXT)
    path, arguments = waiting.value.trigger.serialize()
    made: JobTrigger = resolve_name(path)(**{**arguments, "poll_s": 0.1})
    return made


def test_it_is_started_watched_killed_replaced_and_stopped(place: LocalPlace) -> None:
    assert provision() == [f"{JOB} counts from 0"]
    assert deploy()["what"] == "started"
    wait_until(lambda: runs_as(place, 1))
    assert deploy()["what"] == "adopted"

    async def shift() -> dict[str, str]:
        waiting = asyncio.create_task(first_event(trigger(), within_s=60))
        place.jobs()[0].kill()
        await asyncio.to_thread(wait_until, lambda: runs_as(place, 2))
        assert not waiting.done()
        write(place, step=1000)
        return await waiting

    assert asyncio.run(shift())["status"] == "changed"
    assert provision() == []
    assert (deploy()["what"], deploy()["generation"]) == ("replaced", 3)
    wait_until(lambda: runs_as(place, 3) and count(place) > 1000)
    starts = Mailbox(place.layout.job(JOB)).read_starts()
    assert [start.failure for start in starts] == [False, True, False]

    asyncio.run(trigger().on_kill())
    assert place.runner().status(JOB).state == JobState.STOPPED
    assert place.jobs() == []
    assert (beat(place) or pytest.fail("no heartbeat")).phase == Phase.STOPPED


def test_a_patrol_asks_for_runs_of_its_own_dag_and_stops_it_where_there_is_none(
    place: LocalPlace,
) -> None:
    provision()
    deploy()
    wait_until(lambda: runs_as(place, 1))
    long_ago = utc_now() - timedelta(hours=1)
    assert run_unwatched(place.layout, long_ago, utc_now()) == [JOB]
    runs = {f"counting.{JOB}": 1}

    def patrol() -> list[str]:
        task = SimpleNamespace(get_dr_count=lambda **asked: runs.get(asked["dag_id"], 0))
        operator = PatrolOperator(task_id="look", shift=timedelta(hours=1))
        return operator.resume({"ti": task}, [JOB])

    assert patrol() == []
    assert place.runner().status(JOB).state == JobState.RUNNING
    runs.clear()
    assert patrol() == [JOB]
    assert place.runner().status(JOB).state == JobState.STOPPED


def test_its_dag_has_the_tasks_of_every_job() -> None:
    dag = job_dag.job_dag(
        **WHICH, dag_id=f"counting.{JOB}", description="counts", doc="counts", tags={"counting"}
    )
    assert [task.task_id for task in dag.topological_sort()] == ["provision", "deploy", "supervise"]
    assert {(task.kind, task.job) for task in dag.tasks} == {(counting.COUNTING, JOB)}
