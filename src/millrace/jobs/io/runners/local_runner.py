"""Runs jobs on this machine, under the process manager: Airflow's death is none of theirs."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from millrace.base.errors import MillraceError
from millrace.jobs.core.spec import JobSpec, JobState, JobStatus
from millrace.jobs.io import generations
from millrace.jobs.io.mailbox import Mailbox
from millrace.platform.core.platform import Platform
from millrace.processes.core.program import Program
from millrace.processes.core.supervisor_config import render_job
from millrace.processes.io.log_tail import last_lines
from millrace.processes.io.process_table import JOB_VARIABLE, end_marked
from millrace.processes.io.stack_identity import stack_marks
from millrace.processes.io.supervisor import ProcessInfo, Supervisor, SupervisorUnreachableError
from millrace.settings.core.paths import HOME_VARIABLE
from millrace.storage.io.files import read_text, write_atomic

_STOP_WAIT_S = 120
_POLL_S = 0.2
_ENDED = {"STOPPED", "EXITED", "FATAL", "UNKNOWN"}


class LocalRunner:
    """The runner `local`."""

    def __init__(self, layout: Platform) -> None:
        self._layout = layout
        self._supervisor = Supervisor(layout.supervisor_socket)

    def start(self, job: JobSpec) -> JobStatus:
        with self._only_one(job.id):
            status = self.status(job.id)
            if status.state in (JobState.RUNNING, JobState.STOPPING):
                return status
            self._supervisor.processes()  # says so now when nobody is there to start it
            self._end_leftovers(job.id)
            self._mailbox(job.id).write_job(self._next_generation(job))
            self._load(job)
            self._supervisor.start(program_name(job.id))
        return self.status(job.id)

    def status(self, job_id: str) -> JobStatus:
        job = self._mailbox(job_id).read_job(JobSpec)
        if job is None:
            return JobStatus(state=JobState.ABSENT)
        try:
            info = self._supervisor.process(program_name(job_id))
        except SupervisorUnreachableError:
            seen = JobStatus(state=JobState.UNKNOWN)
        else:
            seen = as_status(info)
        known = {"generation": job.generation, "fingerprint": job.fingerprint}
        return seen.model_copy(update=known)

    def stop(self, job_id: str, timeout_s: float) -> JobStatus:
        name = program_name(job_id)
        deadline = time.monotonic() + timeout_s
        try:
            self._supervisor.ask_to_stop(name)
            while self._is_there(name) and time.monotonic() < deadline:
                time.sleep(_POLL_S)
            self._end_leftovers(job_id)
            while self._is_there(name) and time.monotonic() < deadline + _STOP_WAIT_S:
                time.sleep(_POLL_S)
        except SupervisorUnreachableError:
            return self.status(job_id)
        return self.status(job_id)

    def log_tail(self, job_id: str, lines: int) -> list[str]:
        return last_lines(self._layout.job_log(job_id), lines)

    def _is_there(self, name: str) -> bool:
        info = self._supervisor.process(name)
        return info is not None and info.state not in _ENDED

    def _next_generation(self, job: JobSpec) -> JobSpec:
        """Above every one that was claimed, and above the last that was meant to be."""
        before = self._mailbox(job.id).read_job(JobSpec)
        claimed = generations.latest(self._layout.generations(job.id), self._layout.bucket)
        newest = max(claimed, before.generation if before else 0)
        return job.model_copy(update={"generation": newest + 1})

    def _load(self, job: JobSpec) -> None:
        section = render_job(job_program(job, self._layout))
        file = self._layout.job(job.id) / "program.conf"
        changed = read_text(file) != section
        if changed:
            write_atomic(file, section)
        self._supervisor.load(program_name(job.id), changed)

    def _end_leftovers(self, job_id: str) -> None:
        """What outlived its parent would write beside the new job, until it met the fence."""
        marks = stack_marks(self._layout)
        if marks is None:
            raise MillraceError(f"{self._layout.stack_id} is missing; run 'millrace up' first")
        end_marked({**marks, JOB_VARIABLE: job_id}, grace_s=0)

    def _mailbox(self, job_id: str) -> Mailbox:
        return Mailbox(self._layout.job(job_id))

    @contextmanager
    def _only_one(self, job_id: str) -> Iterator[None]:
        folder = self._layout.job(job_id)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with (folder / "start.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


_JOB_PREFIX = "job-"


def program_name(job_id: str) -> str:
    return f"{_JOB_PREFIX}{job_id}"


def is_job(program: str) -> bool:
    return program.startswith(_JOB_PREFIX)


def job_pid(shell: int | None) -> int | None:
    """The job's own process, below the shell that tells how it ended."""
    try:
        children = psutil.Process(shell).children() if shell else []
    except psutil.Error:
        children = []
    return children[0].pid if children else shell


def job_program(job: JobSpec, layout: Platform) -> Program:
    command = (str(layout.lake_python), "-m", job.entry_point, Mailbox(job.mailbox).job_file)
    return Program(
        name=program_name(job.id),
        command=("/bin/sh", str(layout.home / "infra" / "run-job.sh"), *command),
        directory=layout.home,
        log=layout.job_log(job.id),
        priority=40,
        environment={
            "PYTHONPATH": str(layout.home),
            "PYTHONUNBUFFERED": "1",
            "PYSPARK_PYTHON": str(layout.lake_python),
            HOME_VARIABLE: str(layout.home),
            JOB_VARIABLE: job.id,
        },
        stop_wait_s=_STOP_WAIT_S,
        autostart=False,
        autorestart=False,
    )


def as_status(info: ProcessInfo | None) -> JobStatus:
    """Supervisord's words in ours. Told to stop is STOPPED; ended by itself is EXITED."""
    if info is None or info.state == "STOPPED":
        return JobStatus(state=JobState.STOPPED, since=info.stopped if info else None)
    if info.state in ("STARTING", "RUNNING"):
        return JobStatus(state=JobState.RUNNING, pid=info.pid, since=info.started)
    if info.state == "STOPPING":
        return JobStatus(state=JobState.STOPPING, pid=info.pid, since=info.started)
    if info.state == "EXITED" and info.exit_code == 0:
        return JobStatus(state=JobState.STOPPED, since=info.stopped, exit_code=0)
    # -1: a signal ended the wrapper itself, so nobody heard how the job ended.
    code = info.exit_code if info.exit_code >= 0 else None
    return JobStatus(state=JobState.DEAD, since=info.stopped, exit_code=code)
