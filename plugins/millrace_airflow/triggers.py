"""What runs in the triggerer while a task waits. A trigger is also what restarts a dead job.

The way over a worker (an event, a scheduled task, a start) costs seconds and needs the scheduler
to be alive, so the trigger restarts the job by itself; its lines stand in the task's log.
"""

from __future__ import annotations

import os
from datetime import datetime
from typing import Any

from millrace.settings import Settings
from millrace_airflow.stopping import StoppingTrigger
from millrace_airflow.watch import Event, Watch

# Services on other machines count how often they are asked.
POLL_S, REMOTE_POLL_S = 2.0, 10.0


class JobTrigger(StoppingTrigger):
    """Watches a job for one shift. Marking the task failed (or clearing it) stops the job."""

    def __init__(self, pipeline: str, digest: str, ends_at: str, poll_s: float = POLL_S) -> None:
        super().__init__(poll_s)
        self.pipeline = pipeline
        self.digest = digest
        # A moment, not a span: a triggerer that takes over must not begin the shift anew.
        self.ends_at = ends_at
        self._watch: Watch | None = None

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {
                "pipeline": self.pipeline,
                "digest": self.digest,
                "ends_at": self.ends_at,
                "poll_s": self.poll_s,
            },
        )

    def see(self) -> Event | None:
        return self.look(self._the_watch())

    def stop(self) -> None:
        self._the_watch().stop()

    def look(self, watch: Watch) -> Event | None:
        return watch.look()

    def _the_watch(self) -> Watch:
        if self._watch is None:
            layout = Settings.from_env(os.environ).layout
            ends_at = datetime.fromisoformat(self.ends_at)
            self._watch = Watch(self.pipeline, self.digest, ends_at, layout)
        return self._watch


class BudgetTrigger(JobTrigger):
    """Waits until a job whose restarts are used up may be started again."""

    def look(self, watch: Watch) -> Event | None:
        return watch.may_start()
