"""When a job dies, Airflow brings it back and says why; and it does as it is told."""

from __future__ import annotations

import pytest

from tests.e2e.stack import Stack
from tests.support import wait_until

pytestmark = pytest.mark.timeout(600)

BACK_S = 90


@pytest.fixture
def running(up: Stack) -> Stack:
    """With a supervisor on its shift, as each test needs to find it."""
    airflow = up.airflow()
    wait_until(lambda: airflow.state_of("supervise") == "deferred", 120, "supervise on its shift")
    wait_until(lambda: up.pipeline()["state"] == "running", 60, "a running job")
    return up


def test_a_killed_job_is_back_soon_and_airflow_says_why_it_died(running: Stack) -> None:
    generation = running.pipeline()["generation"]
    (driver,) = running.job_processes()
    driver.kill()
    wait_until(lambda: running.runs_as(generation + 1), BACK_S, "the job back")
    assert len(running.job_processes()) == 1
    airflow = running.airflow()
    wait_until(
        lambda: "exit 137" in airflow.log_of("supervise"), BACK_S, "the exit code in the log"
    )
    assert "its log: " in airflow.log_of("supervise")


def test_a_changed_file_is_deployed_by_a_graceful_stop_and_a_start(running: Stack) -> None:
    generation = running.pipeline()["generation"]
    # Fewer and larger files too, from here on: tasks of later tests read them all.
    running.edit("dags/pipelines/temperature.yaml", "freshness: 2 seconds", "freshness: 5 seconds")
    wait_until(lambda: running.runs_as(generation + 1), 150, "the changed job")
    (driver,) = running.job_processes()
    assert driver.is_running()
    log = (running.home / "var" / "log" / "job-temperature.log").read_text()
    assert "stopped: SIGTERM" in log


def test_a_stopped_pipeline_stays_stopped_until_it_is_unpaused(running: Stack) -> None:
    airflow = running.airflow()
    generation = running.pipeline()["generation"]
    airflow.pause(paused=True)
    airflow.mark_failed("supervise")
    wait_until(lambda: not running.job_processes(), 60, "the job stopped")
    assert running.heartbeat()["phase"] == "stopped", "a batch was torn"
    assert running.pipeline()["state"] == "stopped"
    airflow.pause(paused=False)
    wait_until(lambda: running.runs_as(generation + 1), 120, "the job again")
    assert len(running.job_processes()) == 1
