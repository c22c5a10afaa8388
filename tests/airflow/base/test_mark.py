"""A person's mark on a task that waits in Airflow's triggerer, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from millrace.deployments.io.keeper import utc_now
from millrace.ingest.io.ingest_deployment import read_deployment
from millrace.jobs.core.condition import Condition
from millrace.jobs.io.deployments import remember
from millrace.jobs.io.mailbox import Mailbox
from millrace.platform.core.platform import Platform
from millrace_airflow.jobs.job_trigger import JobTrigger
from tests.airflow.bag import DagBag
from tests.airflow.conftest import PIPELINE, REPOSITORY

pytestmark = pytest.mark.usefixtures("database")


@contextmanager
def triggerer(log: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "airflow", "triggerer", "--skip-serve-logs"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with log.open("ab") as out:
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=out)
        try:
            yield process
            process.terminate()
            process.wait(30)
        finally:
            process.kill()
            process.wait()


def wait_until(holds: Callable[[], bool], log: Path, timeout_s: float = 60) -> None:
    deadline = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < deadline, log.read_text()[-4000:]
        time.sleep(0.1)


def supervise_waits(layout: Platform, name: str) -> None:
    """As after `execute`: deferred, its trigger still nobody's."""
    from airflow.models.trigger import Trigger

    (layout.pipelines / f"{name}.yaml").write_text(PIPELINE.replace("temperature", name))
    deployment = read_deployment(layout, name)
    remember(layout, deployment)
    dags = DagBag(dag_folder=REPOSITORY / "dags" / "pipelines.py").dags
    dags[f"pipeline.{name}"].test(mark_success_pattern=".*")
    ends_at = (utc_now() + timedelta(hours=1)).isoformat()
    trigger = Trigger.from_object(
        JobTrigger("ingest", name, deployment.digest, ends_at, poll_s=0.1)
    )
    with supervise_of(name) as task:
        task.state, task.trigger = "deferred", trigger


@contextmanager
def supervise_of(name: str) -> Iterator[Any]:
    from airflow.models.taskinstance import TaskInstance
    from airflow.utils.session import create_session

    with create_session() as session:
        named = {"dag_id": f"pipeline.{name}", "task_id": "supervise"}
        yield session.query(TaskInstance).filter_by(**named).one()


def conditions(layout: Platform, name: str) -> set[Condition]:
    return {note.condition for note in Mailbox(layout.job(name)).read_journal().notes}


def test_a_mark_stops_the_job_and_a_triggerer_that_ends_stops_none(
    layout: Platform, tmp_path: Path
) -> None:
    log = tmp_path / "triggerer.log"
    for name in ("marked", "unmarked"):
        supervise_waits(layout, name)
    with triggerer(log):
        for name in ("marked", "unmarked"):
            wait_until(lambda name=name: Condition.STARTING in conditions(layout, name), log)
        with supervise_of("marked") as task:
            task.state = "failed"
        wait_until(lambda: Condition.STOPPED in conditions(layout, "marked"), log)
    assert Condition.STOPPED not in conditions(layout, "unmarked")
