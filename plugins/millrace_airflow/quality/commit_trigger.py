"""Tells Airflow that a table has rows which nobody has judged yet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from millrace.platform.core.platform import Platform
from millrace.platform.io.environment import platform_here
from millrace.quality.core.due import is_due, newest_version
from millrace.quality.io.quality_progress import checked_at, read_checked
from millrace.storage.io.objects import objects_at
from millrace_airflow.base.serialized import serialized


class NewRowsTrigger(BaseEventTrigger):
    """One event for all commits of a while: a check costs the start of an engine."""

    def __init__(self, pipeline: str, table: str, every_s: float, poll_s: float = 30.0) -> None:
        super().__init__()
        self.pipeline = pipeline
        self.table = table
        self.every_s = every_s
        self.poll_s = poll_s

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return serialized(self, "pipeline", "table", "every_s", "poll_s")

    async def run(self) -> AsyncIterator[TriggerEvent]:
        told_at = datetime.now(UTC)
        while True:
            layout = platform_here()
            version = await asyncio.to_thread(self._due_version, layout, told_at)
            if version is not None:
                told_at = datetime.now(UTC)
                yield TriggerEvent({"pipeline": self.pipeline, "version": version})
            await asyncio.sleep(self.poll_s)

    def _due_version(self, layout: Platform, told_at: datetime) -> int | None:
        """The newest version, where it is time to judge it."""
        place, state = layout.table("silver", self.table), layout.quality(self.pipeline)
        version = newest_version(objects_at(place, layout.bucket).names("_delta_log"))
        checked = read_checked(state)
        last = max(told_at, checked_at(state) or told_at)
        every = timedelta(seconds=self.every_s)
        done = checked.version if checked else None
        return version if is_due(version, done, last, datetime.now(UTC), every) else None
