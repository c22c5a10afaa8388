"""What runs in the triggerer while a task waits. A trigger is also what restarts a dead job.

The way over a worker (an event, a scheduled task, a start) costs seconds and needs the scheduler
to be alive, so the trigger restarts the job by itself; its lines stand in the task's log.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import datetime
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from millrace.settings import Settings
from millrace_airflow.ended import was_ended
from millrace_airflow.host import TELLS_TRIGGERS
from millrace_airflow.watch import Event, Watch

# Services on other machines count how often they are asked.
POLL_S, REMOTE_POLL_S = 2.0, 10.0


class JobTrigger(BaseTrigger):
    """Watches a job for one shift. Marking the task failed (or clearing it) stops the job."""

    def __init__(self, pipeline: str, digest: str, ends_at: str, poll_s: float = POLL_S) -> None:
        super().__init__()
        self.pipeline = pipeline
        self.digest = digest
        # A moment, not a span: a triggerer that takes over must not begin the shift anew.
        self.ends_at = ends_at
        self.poll_s = poll_s
        self._watch: Watch | None = None
        # A look that starts the job must not overtake the stop that a person asked for.
        self._one_at_a_time = threading.Lock()
        self._stopped = False
        self._stopping: asyncio.Task[None] | None = None

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

    async def run(self) -> AsyncIterator[TriggerEvent]:
        try:
            event = await self._watch_until_event()
        except asyncio.CancelledError:
            if self.task_instance and not TELLS_TRIGGERS:
                self._stopping = asyncio.create_task(self._stop_if_ended())
            raise
        yield TriggerEvent(event)

    async def _watch_until_event(self) -> Event:
        while True:
            event = await asyncio.to_thread(self._look)
            if event:
                return event
            await asyncio.sleep(self.poll_s)

    async def on_kill(self) -> None:
        self._stopping = asyncio.create_task(asyncio.to_thread(self._stop))
        await asyncio.shield(self._stopping)

    async def _stop_if_ended(self) -> None:
        if await was_ended(self.task_instance):
            await asyncio.to_thread(self._stop)

    async def cleanup(self) -> None:
        """Never stops a job; waits for the stop that a person asked for, to tell its end.

        Airflow cancels a killed trigger again each second, `on_kill` included.
        """
        while self._stopping and not self._stopping.done():
            with suppress(asyncio.CancelledError):
                await asyncio.shield(self._stopping)

    def _look(self) -> Event | None:
        with self._one_at_a_time:
            return None if self._stopped else self.look(self._the_watch())

    def _stop(self) -> None:
        with self._one_at_a_time:
            self._stopped = True
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
