"""What the local runner promises beyond the others: supervisord and processes of this machine."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.jobs.core.spec import JobState
from millrace.processes.io.process_table import end_marked
from millrace.processes.io.stack_identity import ensure_stack_marks
from millrace.processes.io.supervisor import SupervisorUnreachableError
from tests.integration.stands.services.runner_places import PIPELINE, LocalPlace
from tests.support import wait_until


@pytest.fixture
def place(tmp_path: Path) -> Iterator[LocalPlace]:
    with LocalPlace.opened(tmp_path) as opened:
        yield opened


def start_and_await(place: LocalPlace) -> int:
    """The wrapper's process id, when wrapper, job and its child run."""
    pid = place.runner().start(place.job()).pid
    wait_until(lambda: "started" in place.runner().log_tail(PIPELINE, 100))
    assert pid is not None
    assert len(place.processes()) == 3
    return pid


def test_nothing_of_a_stopped_job_is_left(place: LocalPlace) -> None:
    start_and_await(place)
    place.runner().stop(PIPELINE, timeout_s=20)
    assert place.processes() == []


def test_nothing_of_a_dead_job_runs_beside_the_next(place: LocalPlace) -> None:
    wrapper_pid = start_and_await(place)
    orphan = place.jobs()[0]
    os.kill(wrapper_pid, signal.SIGKILL)
    wait_until(lambda: place.runner().status(PIPELINE).state == JobState.DEAD)
    assert orphan.is_running()
    place.runner().start(place.job())
    assert orphan.pid not in {process.pid for process in place.processes()}


def test_a_job_outlives_its_process_manager_and_still_ends_gracefully(place: LocalPlace) -> None:
    start_and_await(place)
    place.kill_supervisord()
    assert place.runner().status(PIPELINE).state == JobState.UNKNOWN
    with pytest.raises(SupervisorUnreachableError):
        place.runner().start(place.job())
    assert len(place.processes()) == 3
    end_marked(ensure_stack_marks(place.layout), grace_s=5)
    assert place.processes() == []
    assert (place.layout.home / "finished").exists()


def test_a_job_can_be_started_under_a_new_process_manager(place: LocalPlace) -> None:
    start_and_await(place)
    end_marked(ensure_stack_marks(place.layout), grace_s=5)
    place.start_supervisord()
    assert place.runner().status(PIPELINE).state == JobState.STOPPED
    assert place.runner().start(place.job()).generation == 2
