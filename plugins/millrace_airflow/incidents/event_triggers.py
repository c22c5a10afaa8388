"""What the DAG `incident` waits by: one trigger brings events to their topic, one hears of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from airflow.providers.apache.kafka.triggers.shared_stream import KafkaSharedStreamTrigger
from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from millrace.base.errors import MillraceError
from millrace.incidents.core.event import read_event
from millrace.incidents.io.outbox import Outbox
from millrace.kafka.core.kafka_client import librdkafka_settings
from millrace.kafka.core.platform_topics import EVENTS
from millrace.pipelines.io.loader import load_events_site
from millrace.platform.core.platform import Platform
from millrace.platform.io.environment import platform_here
from millrace.sites.core.user_names import PLATFORM
from millrace.storage.io.properties import read_properties
from millrace_airflow.base.serialized import serialized

log = logging.getLogger(__name__)


def as_payload(value: bytes | None) -> dict[str, Any] | None:
    """What a run is told of a message; None for what is no event."""
    event = read_event(value or b"")
    return event.model_dump(mode="json") if event else None


class EventsTrigger(KafkaSharedStreamTrigger):
    """Fires for each event. Its message is committed after Airflow has written the event down."""

    def __init__(self, topics: list[str] | None = None, **kwargs: Any) -> None:
        super().__init__(topics=topics or [EVENTS], **{"kafka_config_id": EVENTS, **kwargs})

    def serialize(self) -> tuple[str, dict[str, Any]]:
        _, values = super().serialize()
        return serialized(self)[0], values

    async def filter_shared_stream(
        self, shared_stream: AsyncIterator[Any]
    ) -> AsyncIterator[TriggerEvent]:
        async for value in shared_stream:
            payload = as_payload(value)
            if payload:
                yield TriggerEvent(payload)
            else:
                log.warning("a message of %s is no event: %.200r", self.topics, value)


class OutboxTrigger(BaseEventTrigger):
    """Never fires: it carries what anybody put into the outbox to the topic."""

    def __init__(self, poll_s: float = 2.0) -> None:
        super().__init__()
        self.poll_s = poll_s
        self._trouble = ""
        # A broker that is away must take none of the threads that look after jobs.
        self._thread = ThreadPoolExecutor(1, "outbox")

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return serialized(self, "poll_s")

    async def run(self) -> AsyncIterator[TriggerEvent]:
        loop = asyncio.get_running_loop()
        while True:
            await loop.run_in_executor(self._thread, self._carry)
            await asyncio.sleep(self.poll_s)
        yield  # only what yields is a trigger

    def _carry(self) -> None:
        layout = platform_here()
        outbox = Outbox(layout.outbox)
        if not outbox.ids():
            return
        try:
            for event_id in deliver_all(layout, outbox):
                log.info("sent: %s", event_id)
            self._trouble = ""
        except MillraceError as error:
            self._tell_once(f"{len(outbox.ids())} events wait: {error}")

    def _tell_once(self, trouble: str) -> None:
        if trouble != self._trouble:
            log.warning("%s", trouble)
        self._trouble = trouble


def deliver_all(layout: Platform, outbox: Outbox) -> list[str]:
    from millrace.incidents.io.event_sender import deliver

    site = load_events_site(layout)
    if site is None:
        return []
    login = read_properties(layout.user_secret(site.name, PLATFORM))
    client = librdkafka_settings(site, layout.ca, login["username"], login["password"])
    return deliver(site, client, outbox)
