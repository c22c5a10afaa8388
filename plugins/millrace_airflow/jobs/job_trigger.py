"""What runs in the triggerer while a task waits. A trigger is also what restarts a dead job.

The way over a worker (an event, a scheduled task, a start) costs seconds and needs the scheduler
to be alive, so the trigger restarts the job by itself; its lines stand in the task's log.
"""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import Any

from millrace.deployments.io.watch import Event, JobWatch
from millrace.platform.io.environment import platform_here
from millrace_airflow.base.serialized import serialized
from millrace_airflow.base.stopping_trigger import StoppingTrigger

# Services on other machines count how often they are asked.
POLL_S, REMOTE_POLL_S = 2.0, 10.0


class JobTrigger(StoppingTrigger):
    """Watches a job for one shift. Marking the task failed (or clearing it) stops the job."""

    has_sign = True

    def __init__(
        self, kind: str, job: str, digest: str, ends_at: str, poll_s: float = POLL_S
    ) -> None:
        super().__init__(poll_s)
        self.kind = kind
        self.job = job
        self.digest = digest
        # A moment, not a span: a triggerer that takes over must not begin the shift anew.
        self.ends_at = ends_at

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return serialized(self, "kind", "job", "digest", "ends_at", "poll_s")

    def see(self) -> Event | None:
        return self._watch.look()

    def stop(self) -> None:
        self._watch.stop()

    @cached_property
    def _watch(self) -> JobWatch:
        ends_at = datetime.fromisoformat(self.ends_at)
        return JobWatch(self.kind, self.job, self.digest, ends_at, platform_here())


class BudgetTrigger(JobTrigger):
    """Waits until a job whose restarts are used up may be started again."""

    has_sign = False

    def see(self) -> Event | None:
        return self._watch.may_start()
