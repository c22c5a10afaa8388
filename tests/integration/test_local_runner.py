"""The local runner on a real supervisord; the job is a stand-in that needs no Spark."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import copy

import psutil
import pytest

from millrace.core.engine import EngineSpec
from millrace.core.job import JobSpec, JobState
from millrace.core.layout import Layout
from millrace.local.identity import ensure_stack_marks, stack_environment
from millrace.local.processes import JOB_VARIABLE, end_marked, find_marked
from millrace.local.runner import LocalRunner
from millrace.local.supervisor import Supervisor, SupervisorUnreachableError
from millrace.local.supervisor_config import render_config
from millrace.state import generations
from millrace.state.files import write_atomic
from millrace.state.mailbox import Mailbox
from tests.support import wait_until

REPOSITORY = Path(__file__).resolve().parents[2]
PIPELINE = "stand-in"
# A child of its own, as Spark's Python has a JVM; a graceful end leaves a file.
JOB = """
import pathlib, signal, subprocess, sys, time
child = subprocess.Popen(["sleep", "600"])
def finish(*_):
    child.terminate()
    child.wait()
    pathlib.Path("finished").touch()
    sys.exit(0)
signal.signal(signal.SIGTERM, finish)
print("started", flush=True)
while True:
    time.sleep(0.05)
"""


@pytest.fixture
def layout(tmp_path: Path) -> Iterator[Layout]:
    layout = Layout(tmp_path)
    for folder in (layout.logs, layout.run, layout.home / "infra", layout.lake_python.parent):
        folder.mkdir(parents=True)
    copy(REPOSITORY / "infra" / "run-job.sh", layout.home / "infra")
    layout.lake_python.symlink_to(sys.executable)
    (layout.home / "stand_in.py").write_text(JOB)
    write_atomic(layout.supervisor_config, render_config([], layout))
    start_supervisord(layout)
    yield layout
    end_marked(ensure_stack_marks(layout), grace_s=5)


def start_supervisord(layout: Layout) -> None:
    command = (Path(sys.executable).parent / "supervisord", "-c", layout.supervisor_config)
    subprocess.run(command, env=stack_environment(layout), check=True)
    wait_until(lambda: Supervisor(layout.supervisor_socket).pid() is not None)


@pytest.fixture
def runner(layout: Layout) -> LocalRunner:
    return LocalRunner(layout)


@pytest.fixture
def job(layout: Layout) -> JobSpec:
    return JobSpec(
        pipeline=PIPELINE,
        entry_point="stand_in",
        fingerprint="f1",
        inputs=(),
        tables=layout.tables("stand_in"),
        trigger_s=1,
        rows_per_batch=1,
        mailbox=str(layout.job(PIPELINE)),
        generations_dir=layout.generations(PIPELINE),
        engine=EngineSpec(memory="64m", class_path=()),
    )


def processes_of_job(layout: Layout) -> list[psutil.Process]:
    return find_marked({**ensure_stack_marks(layout), JOB_VARIABLE: PIPELINE})


def worker(layout: Layout) -> psutil.Process:
    """The process that the wrapper waits for."""
    wait_until(lambda: "started" in LocalRunner(layout).log_tail(PIPELINE, 100))
    found = [
        p for p in processes_of_job(layout) if "stand_in" in p.cmdline() and "-m" in p.cmdline()
    ]
    return next(p for p in found if not p.cmdline()[0].endswith("sh"))


def test_a_job_never_started_is_absent(runner: LocalRunner) -> None:
    assert runner.status(PIPELINE).state == JobState.ABSENT


def test_two_starts_at_once_give_one_job(layout: Layout, runner: LocalRunner, job: JobSpec) -> None:
    with ThreadPoolExecutor(4) as pool:
        started = list(pool.map(lambda _: LocalRunner(layout).start(job), range(4)))
    assert {status.generation for status in started} == {1}
    assert len({status.pid for status in started}) == 1
    worker(layout)
    assert len(processes_of_job(layout)) == 3  # wrapper, job, its child


def test_a_generation_is_above_all_that_were_claimed(
    layout: Layout, runner: LocalRunner, job: JobSpec
) -> None:
    generations.claim(layout.generations(PIPELINE), 7)
    assert runner.start(job).generation == 8
    runner.stop(PIPELINE, timeout_s=10)
    assert runner.start(job).generation == 9  # 8 was never claimed, yet it may still wake up


def test_a_killed_job_is_dead_with_its_exit_code(
    layout: Layout, runner: LocalRunner, job: JobSpec
) -> None:
    runner.start(job)
    worker(layout).kill()
    wait_until(lambda: runner.status(PIPELINE).state == JobState.DEAD)
    status = runner.status(PIPELINE)
    assert status.exit_code == 128 + signal.SIGKILL
    assert status.since is not None


def test_a_stopped_job_finishes_its_batch(
    layout: Layout, runner: LocalRunner, job: JobSpec
) -> None:
    runner.start(job)
    worker(layout)
    assert runner.stop(PIPELINE, timeout_s=20).state == JobState.STOPPED
    assert (layout.home / "finished").exists()
    assert processes_of_job(layout) == []


def test_a_job_that_does_not_stop_is_killed_after_the_timeout(
    layout: Layout, runner: LocalRunner, job: JobSpec
) -> None:
    runner.start(job)
    hanging = worker(layout)
    hanging.suspend()
    assert runner.stop(PIPELINE, timeout_s=0.5).state == JobState.STOPPED
    assert processes_of_job(layout) == []


def test_nothing_of_a_dead_job_runs_beside_the_next(
    layout: Layout, runner: LocalRunner, job: JobSpec
) -> None:
    wrapper_pid = runner.start(job).pid
    orphan = worker(layout)
    assert wrapper_pid is not None
    os.kill(wrapper_pid, signal.SIGKILL)
    wait_until(lambda: runner.status(PIPELINE).state == JobState.DEAD)
    assert orphan.is_running()
    runner.start(job)
    assert orphan.pid not in {process.pid for process in processes_of_job(layout)}


def test_without_its_process_manager_a_job_is_unknown_and_found_again(
    layout: Layout, runner: LocalRunner, job: JobSpec
) -> None:
    runner.start(job)
    worker(layout)
    pid = Supervisor(layout.supervisor_socket).pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: runner.status(PIPELINE).state == JobState.UNKNOWN)
    with pytest.raises(SupervisorUnreachableError):
        runner.start(job)
    assert Mailbox(layout.job(PIPELINE)).read_job() is not None
    assert len(processes_of_job(layout)) == 3
    end_marked(ensure_stack_marks(layout), grace_s=5)
    assert processes_of_job(layout) == []
    assert (layout.home / "finished").exists()


def test_a_job_can_be_started_under_a_new_process_manager(
    layout: Layout, runner: LocalRunner, job: JobSpec
) -> None:
    runner.start(job)
    end_marked(ensure_stack_marks(layout), grace_s=5)
    start_supervisord(layout)
    assert runner.status(PIPELINE).state == JobState.STOPPED
    assert runner.start(job).generation == 2
