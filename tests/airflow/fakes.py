"""A runner in memory, for tests; found through an entry point as every runner is."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from millrace.jobs.core.spec import JobSpec, JobState, JobStatus
from millrace.platform.core.platform import Platform


class InMemoryRunner:
    """Jobs of all layouts; a test looks at and changes `jobs[home]` as it likes."""

    jobs: dict[str, JobStatus] = {}  # noqa: RUF012 - shared on purpose: operators make runners anew
    calls: list[str] = []  # noqa: RUF012
    start_error: Exception | None = None
    stop_takes_s = 0.0

    def __init__(self, layout: Platform) -> None:
        self._layout = layout

    @classmethod
    def reset(cls) -> None:
        cls.jobs, cls.calls, cls.start_error = {}, [], None
        cls.stop_takes_s = 0.0

    @classmethod
    def die(cls, pipeline: str, exit_code: int) -> None:
        changes = {"state": JobState.DEAD, "exit_code": exit_code, "pid": None}
        cls.jobs[pipeline] = cls.jobs[pipeline].model_copy(update=changes)

    def start(self, job: JobSpec) -> JobStatus:
        if self.start_error:
            raise self.start_error
        running = self.status(job.id)
        if running.state == JobState.RUNNING:
            return running
        self.calls.append("start")
        self.jobs[job.id] = JobStatus(
            state=JobState.RUNNING,
            pid=4242,
            since=datetime.now(UTC),
            generation=running.generation + 1,
            fingerprint=job.fingerprint,
        )
        return self.jobs[job.id]

    def status(self, pipeline: str) -> JobStatus:
        return self.jobs.get(pipeline, JobStatus(state=JobState.ABSENT))

    def stop(self, pipeline: str, timeout_s: float) -> JobStatus:
        self.calls.append("stop" if timeout_s > 0 else "kill")
        time.sleep(self.stop_takes_s)
        changes = {"state": JobState.STOPPED, "exit_code": 0, "pid": None}
        self.jobs[pipeline] = self.status(pipeline).model_copy(update=changes)
        return self.jobs[pipeline]

    def log_tail(self, pipeline: str, lines: int) -> list[str]:
        return [f"{pipeline}: java.lang.OutOfMemoryError: Java heap space"][-lines:]
