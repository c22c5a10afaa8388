"""A trigger that watches what runs outside of Airflow, and stops it when a person ends its task."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from millrace_airflow.base.cancelled_task import was_ended, was_taken_away
from millrace_airflow.base.host import TELLS_TRIGGERS

log = logging.getLogger(__name__)


class StoppingTrigger(BaseTrigger):
    """Subclasses say how to look and how to stop; both may take their time."""

    # Whether its task pushes a sign, by which one that was taken away can be told.
    has_sign = False

    def __init__(self, poll_s: float) -> None:
        super().__init__()
        self.poll_s = poll_s
        # A look that starts something must not overtake the stop that a person asked for.
        self._one_at_a_time = threading.Lock()
        self._stopped = False
        self._stopping: asyncio.Task[None] | None = None

    def see(self) -> dict[str, Any] | None:
        """What ends the wait; None while there is nothing to tell."""
        raise NotImplementedError

    def stop(self) -> None:
        raise NotImplementedError

    async def run(self) -> AsyncIterator[TriggerEvent]:
        try:
            event = await self._watch_until_event()
        except asyncio.CancelledError:
            if self.task_instance and not TELLS_TRIGGERS:
                self._stopping = asyncio.create_task(self._stop_if_ended())
            raise
        yield TriggerEvent(event)

    async def _watch_until_event(self) -> dict[str, Any]:
        while True:
            event = await asyncio.to_thread(self._look)
            if event:
                return event
            await asyncio.sleep(self.poll_s)

    async def on_kill(self) -> None:
        self._stopping = asyncio.create_task(self._stop_unless_taken_away())
        await asyncio.shield(self._stopping)

    async def _stop_unless_taken_away(self) -> None:
        if self.has_sign and self.task_instance and await was_taken_away(self.task_instance):
            log.warning("its task is gone from Airflow's database; what it watched goes on")
            return
        await asyncio.to_thread(self._stop)

    async def _stop_if_ended(self) -> None:
        if await was_ended(self.task_instance):
            await self._stop_unless_taken_away()

    async def cleanup(self) -> None:
        """Never stops anything; waits for the stop that a person asked for, to tell its end.

        Airflow cancels a killed trigger again each second, `on_kill` included.
        """
        while self._stopping and not self._stopping.done():
            with suppress(asyncio.CancelledError):
                await asyncio.shield(self._stopping)

    def _look(self) -> dict[str, Any] | None:
        with self._one_at_a_time:
            return None if self._stopped else self.see()

    def _stop(self) -> None:
        with self._one_at_a_time:
            self._stopped = True
            self.stop()
