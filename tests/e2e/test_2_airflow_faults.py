"""Whatever of Airflow dies, and whenever: each job stays as it was asked to be, once.

At each blow one job runs (the real one), one is starting and one is asked to stop. Of these two
one is of another kind than ingest; they change their parts from blow to blow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import psutil
import pytest

from millrace.processes.io.supervisor import Supervisor
from tests.e2e import stand_ins
from tests.e2e.stack import Airflow, Stack, kill_all
from tests.e2e.stand_ins import airflow_of, is_watched, stop
from tests.support import wait_until

pytestmark = pytest.mark.timeout(900)

AIRFLOW = ("airflow-scheduler", "airflow-triggerer", "airflow-api-server", "airflow-dag-processor")
WORKERS = ("workers",)
TARGETS = [*((name,) for name in AIRFLOW), WORKERS, ("postgres",), AIRFLOW]
KILLED, RESTARTED = "killed as a stop is asked", "restarted while a job stops"
CELLS = [(targets, way) for targets in TARGETS for way in (KILLED, RESTARTED)]
# All of Airflow at once is the worst of them, and leaves Postgres alone.
ALWAYS = [(("postgres",), KILLED), (AIRFLOW, KILLED)]
# A task that died with its worker is missed after two minutes.
BACK_S = 240


@dataclass
class Pair:
    """Two jobs, a kind each; in each round the idle one is started, the other stopped."""

    stack: Stack
    idle: str = "stand-in-slow-a"
    busy: str = "counter-slow-b"

    @property
    def names(self) -> list[str]:
        return [self.idle, self.busy]

    def begin(self) -> None:
        for name in self.names:
            self._wait_until_watched(name)
        stop(airflow_of(self.stack, self.idle))
        self.wait_until_stopped(self.idle)

    def end(self) -> None:
        for name in self.names:
            if self.stack.job_processes(name):
                stop(airflow_of(self.stack, name))
            self.wait_until_stopped(name)

    def ask(self) -> None:
        airflow_of(self.stack, self.idle).pause(paused=False)
        wait_until(lambda: self.stack.phase(self.idle) == "starting", 90, f"{self.idle} starting")
        stop(airflow_of(self.stack, self.busy))

    def wait_until_stopping(self) -> None:
        wait_until(lambda: self.stack.phase(self.busy) == "stopping", 30, f"{self.busy} stopping")

    def wait_until_as_asked(self) -> None:
        self._wait_until_watched(self.idle)
        self.wait_until_stopped(self.busy)
        self.idle, self.busy = self.busy, self.idle

    def generations(self) -> list[int]:
        return [self.stack.heartbeat(name)["generation"] for name in sorted(self.names)]

    def doubled(self) -> list[str]:
        jobs = self.stack.home / "var" / "jobs"
        return [name for name in self.names if (jobs / name / "doubled").exists()]

    def _wait_until_watched(self, name: str) -> None:
        wait_until(partial(is_watched, self.stack, name), BACK_S, f"{name} running and watched")

    def wait_until_stopped(self, name: str) -> None:
        wait_until(lambda: not self.stack.job_processes(name), BACK_S, f"{name} stopped")
        assert self.stack.phase(name) == "stopped"


@pytest.fixture(scope="module")
def pair(stack: Stack, first_words: str) -> Iterator[Pair]:
    made = Pair(stack)
    stand_ins.install(stack, [made.idle])
    stand_ins.install_counter(stack, made.busy, pause_s=6)
    pipeline, counter = made.names
    restart(stack, AIRFLOW)
    made.begin()
    yield made
    made.end()
    stand_ins.remove(stack, [pipeline])
    stand_ins.remove_counter(stack, counter)


def victims(stack: Stack, target: str) -> list[psutil.Process]:
    """A component with all that it has begun; workers are what the scheduler has begun."""
    if target == "workers":
        return psutil.Process(stack.pid_of("airflow-scheduler")).children(recursive=True)
    process = psutil.Process(stack.pid_of(target))
    return [*process.children(recursive=True), process]


def kill(stack: Stack, targets: tuple[str, ...]) -> None:
    kill_all(process for target in targets for process in victims(stack, target))


def restart(stack: Stack, targets: tuple[str, ...]) -> None:
    """A stop as the process manager makes it, and a start."""
    if targets == WORKERS:
        for process in victims(stack, "workers"):
            process.terminate()
        return
    manager = Supervisor(stack.home / "var" / "run" / "supervisor.sock")
    for target in targets:
        manager.ask_to_stop(target)
    for target in targets:
        wait_until(partial(_has_ended, manager, target), 120, f"{target} stopped")
        manager.start(target)


def _has_ended(manager: Supervisor, target: str) -> bool:
    info = manager.process(target)
    return info is not None and info.state in ("STOPPED", "EXITED", "FATAL")


def cell(targets: tuple[str, ...], way: str) -> Any:
    marks = () if (targets, way) in ALWAYS else (pytest.mark.long,)
    return pytest.param(targets, way, id="+".join(targets) + " " + way, marks=marks)


@pytest.mark.parametrize(("targets", "way"), [cell(*one) for one in CELLS])
def test_jobs_are_as_asked_after(pair: Pair, targets: tuple[str, ...], way: str) -> None:
    """Takes more than a minute: Airflow misses a task whose worker was killed after two."""
    stack = pair.stack
    before = pair.generations()
    (driver,) = stack.job_processes()
    pair.ask()
    if way == KILLED:
        kill(stack, targets)
    else:
        pair.wait_until_stopping()
        restart(stack, targets)
    pair.wait_until_as_asked()

    assert sum(pair.generations()) == sum(before) + 1, "something was started twice"
    assert not pair.doubled()
    wait_until(partial(is_watched, stack, "temperature"), BACK_S, "temperature watched")
    assert [process.pid for process in stack.job_processes()] == [driver.pid]


def test_a_clear_during_a_shift_ends_in_one_running_job(pair: Pair) -> None:
    airflow = airflow_of(pair.stack, pair.busy)
    for task in ("supervise", "deploy", "supervise"):
        airflow.clear(task)
    wait_until(partial(is_watched, pair.stack, pair.busy), BACK_S, "running and watched")
    assert not pair.doubled()


def test_clears_and_marks_at_once_end_as_the_last_of_them_asked(pair: Pair) -> None:
    airflow = airflow_of(pair.stack, pair.busy)
    for _ in range(3):
        airflow.mark_failed("supervise")
        airflow.clear("supervise")
    stop(airflow)
    pair.wait_until_stopped(pair.busy)
    airflow.pause(paused=False)
    wait_until(partial(is_watched, pair.stack, pair.busy), BACK_S, "running and watched")
    assert not pair.doubled()


# Airflow refuses to clean what it has parsed since.
CLEANED_S = 90
CLEAN = (
    "SPT_NOENV=1 AIRFLOW_HOME=var/airflow PYTHONPATH=. .venv/bin/airflow db clean --yes"
    " --skip-archive --clean-before-timestamp "
)


def test_a_clean_of_all_tables_that_takes_a_shift_harms_no_job(pair: Pair) -> None:
    """Its task and its trigger go, and those of the patrol and of the watchers for incidents."""
    stack, airflow = pair.stack, pair.stack.airflow()
    (driver,), began = stack.job_processes(), began_at(airflow, "supervise")
    wait_until(lambda: seconds_since(began) > CLEANED_S, CLEANED_S, "a shift that is old enough")
    before = datetime.now(UTC) - timedelta(seconds=CLEANED_S)
    done = stack.call("sh", "-c", CLEAN + before.isoformat())
    assert done.returncode == 0, done.stderr
    wait_until(lambda: began_at(airflow, "supervise") > began, BACK_S, "another task")
    wait_until(partial(is_watched, stack, "temperature"), BACK_S, "temperature watched")
    assert [process.pid for process in stack.job_processes()] == [driver.pid]
    incidents = stack.home / "var" / "incidents"
    known = set(incidents.glob("*/page.html"))
    assert stack.millrace("incident", "temperature", "A trial").returncode == 0
    wait_until(lambda: set(incidents.glob("*/page.html")) - known, BACK_S, "an incident's page")


def began_at(airflow: Airflow, task: str) -> datetime:
    """Long ago, while it is not there or has not begun."""
    found = airflow.client.get(airflow.task(task))
    began = found.json()["start_date"] if found.is_success else None
    return datetime.fromisoformat(began) if began else datetime.min.replace(tzinfo=UTC)


def seconds_since(moment: datetime) -> float:
    return (datetime.now(UTC) - moment).total_seconds()
