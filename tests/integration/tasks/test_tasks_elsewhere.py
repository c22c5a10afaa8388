"""Tasks as runs of EMR Serverless, beside a real object store; the stand-in needs no Spark."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from millrace.base.model import Frozen
from millrace.jobs.core.task_spec import TaskSpec
from millrace.settings.core.engine import EngineSpec
from millrace.tasks.io import emr_tasks
from millrace.tasks.io.run import TaskFailedError, new_task_folder, run_task
from tests.integration.stands.lake.object_store import RunningStore
from tests.integration.stands.services.runner_places import RemotePlace, emr_serverless
from tests.support import wait_until

PROLOGUE = """\
import pathlib, sys
from millrace.jobs.core.task_spec import TaskSpec
from millrace.tasks.io.task_folder import brought_here
with brought_here(sys.argv[1:]) as text:
    task = TaskSpec.model_validate_json(text)
"""
WORKS = f"""{PROLOGUE}
    print("half way", flush=True)
    task.result_file.write_text('{{"rows": 7}}')
"""
FAILS = f"""{PROLOGUE}
    task.error_file.write_text("the table is gone")
sys.exit(1)
"""
NEVER_ENDS = f"""{PROLOGUE}
    import time
    time.sleep(600)
"""


class Result(Frozen):
    rows: int


class StopError(Exception):
    """Somebody ends the task."""


@pytest.fixture
def place(
    tmp_path: Path, store: RunningStore, monkeypatch: pytest.MonkeyPatch
) -> Iterator[RemotePlace]:
    monkeypatch.setattr(emr_tasks, "POLL_S", 0.05)
    with emr_serverless(tmp_path, store).running() as place:
        yield place


def run(place: RemotePlace, program: str, on_progress) -> Result:
    (place.layout.home / "job.py").write_text(program)
    engine = EngineSpec(memory="64m", class_path=(), bucket=place.layout.bucket, is_submitted=True)
    folder = new_task_folder(place.layout, "heat", "quality")
    task = TaskSpec(
        pipeline="heat", engine=engine, tables=place.layout.tables("heat"), folder=folder
    )
    return run_task(place.layout, "job", task, Result, on_progress)


def test_a_result_comes_back_with_its_progress_and_its_log(place: RemotePlace) -> None:
    said: list[str] = []
    assert run(place, WORKS, said.append) == Result(rows=7)
    assert said[0].startswith("run ")
    assert said[-1] == "stopped"
    logs = list(place.layout.jobs.glob("heat/tasks/*/task.log"))
    assert "half way" in logs[0].read_text()


def test_a_reason_comes_back(place: RemotePlace) -> None:
    with pytest.raises(TaskFailedError, match="the table is gone"):
        run(place, FAILS, lambda _: None)


def test_a_service_that_is_away_for_a_while_is_waited_for(place: RemotePlace) -> None:
    said: list[str] = []

    def on_progress(line: str) -> None:
        said.append(line)
        if line.startswith("run "):
            place.service.stop()
            threading.Timer(0.5, place.service.start).start()

    assert run(place, WORKS, on_progress) == Result(rows=7)
    assert any("emr-serverless" in line for line in said[1:])


def test_who_ends_the_task_ends_its_run(place: RemotePlace) -> None:
    def on_progress(line: str) -> None:
        if line == "running":
            raise StopError

    with pytest.raises(StopError):
        run(place, NEVER_ENDS, on_progress)
    wait_until(lambda: place.jobs() == [], 60)
