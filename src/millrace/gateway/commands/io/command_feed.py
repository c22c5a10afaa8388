"""Reads the site's topic of commands, from where the desk's memory says."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from millrace.gateway.delivery.io.link import Login
from millrace.kafka.core.platform_topics import COMMANDS
from millrace.kafka.io.client_errors import SiteError, Watch, watched
from millrace.sites.core.spec import ClientSettings, SiteSpec

log = logging.getLogger(__name__)
_TIMEOUT_S = 10.0
_POLL_S = 0.5
_PAUSE_S = 2.0
_MOST = 100
_OWN: ClientSettings = {
    "group.id": "gateway",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    # Where the topic was made anew: what it has is known by its ids.
    "auto.offset.reset": "earliest",
    "fetch.wait.max.ms": 200,
}


class Arrived(NamedTuple):
    partition: int
    offset: int
    time_ms: int
    value: bytes | None


class CommandFeed(threading.Thread):
    """`take` is called in this thread, and returns when they are taken over."""

    def __init__(
        self,
        site: SiteSpec,
        settings: ClientSettings,
        login: Login,
        positions: dict[int, int] | None,
        take: Callable[[list[Arrived], dict[int, int]], None],
        is_crowded: Callable[[], bool],
    ) -> None:
        super().__init__(name="commands", daemon=True)
        self._site = site
        self._settings = settings
        self._login = login
        self._positions = positions
        self._take = take
        self._is_crowded = is_crowded
        self._ends = threading.Event()
        self._watch = Watch(site, settings)
        # Why none comes; empty: they may.
        self.obstacle = "not connected yet"
        self.failure: BaseException | None = None

    def end(self) -> None:
        self._ends.set()

    def run(self) -> None:
        try:
            while not self._ends.is_set():
                self._read_on()
        except BaseException as error:
            log.critical("reading commands has failed: %s", error, exc_info=True)
            self.failure = error

    def _read_on(self) -> None:
        settings = {**self._settings, **self._login(), **_OWN}
        self._watch = Watch(self._site, settings)
        consumer = Consumer(watched(settings, self._watch))
        try:
            consumer.assign(self._places(consumer))
            self._read(consumer)
        except SiteError as error:
            if self.obstacle != str(error):
                log.warning("commands: %s", error)
            self.obstacle = str(error)
            self._ends.wait(_PAUSE_S)
        finally:
            consumer.close()

    def _places(self, consumer: Consumer) -> list[TopicPartition]:
        """Who never read any begins with those that come from now on: it can't know what became of
        the others."""
        try:
            found = consumer.list_topics(COMMANDS, timeout=_TIMEOUT_S).topics[COMMANDS]
            if found.error:
                raise self._watch.explain(found.error, COMMANDS)
            parts = [TopicPartition(COMMANDS, number) for number in sorted(found.partitions)]
            if self._positions is None:
                ends = [consumer.get_watermark_offsets(part, timeout=_TIMEOUT_S) for part in parts]
                self._go_to({part.partition: end[1] for part, end in zip(parts, ends, strict=True)})
        except KafkaException as error:
            consumer.poll(0)  # until now nobody let the watch hear the reason
            raise self._watch.explain(error.args[0], COMMANDS) from error
        known = self._positions or {}
        return [TopicPartition(COMMANDS, p.partition, known.get(p.partition, 0)) for p in parts]

    def _go_to(self, positions: dict[int, int]) -> None:
        self._positions = positions
        self._take([], positions)

    def _read(self, consumer: Consumer) -> None:
        while not self._ends.is_set():
            if self._is_crowded():
                self.obstacle = "their outcomes wait for room in the spool"
                self._ends.wait(_POLL_S)
                continue
            messages = consumer.consume(_MOST, _POLL_S)
            for message in messages:
                if error := message.error():
                    raise self._watch.explain(error, COMMANDS)
            if messages:
                arrived = [_arrived(message) for message in messages]
                moved = {one.partition: one.offset + 1 for one in arrived}
                self._positions = {**(self._positions or {}), **moved}
                self._take(arrived, self._positions)
                self._watch.forget()
            elif self._watch.is_refused:
                raise self._watch.explain(None, COMMANDS)
            self.obstacle = str(self._watch.explain()) if self._watch.has_reason else ""


def _arrived(message: Message) -> Arrived:
    _, time_ms = message.timestamp()
    return Arrived(message.partition() or 0, message.offset() or 0, time_ms, message.value())
