"""Simulated sensors of a site: paced, repeatable, patient with a site that is not there yet."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import islice
from threading import Event
from typing import Protocol

from millrace.gateway.simulator.core.pacing import Pace
from millrace.kafka.io.client_errors import SiteError
from millrace.schemas.io.avro import Schemas
from millrace.sites.core.simulation import Reading, Simulator, readings
from millrace.sites.core.spec import SiteSpec

_SAY_EVERY_S = 10.0
_LAST_WORDS_S = 10.0
_BURST = 2_000
Message = tuple[bytes, bytes]


class Sending(Protocol):
    """A way to the broker: to itself, or through a gateway."""

    @property
    def delivered(self) -> int: ...

    @property
    def outstanding(self) -> int: ...

    @property
    def room(self) -> int: ...

    def trouble(self) -> SiteError: ...

    def find_obstacle(self) -> SiteError | None: ...

    def send(self, key: bytes, value: bytes) -> None: ...

    def poll(self, timeout_s: float) -> None: ...


def simulate(
    site: SiteSpec,
    sender: Sending,
    simulator: Simulator,
    schemas: Schemas,
    *,
    stop: Event,
    say: Callable[[str], None],
    count: int | None = None,
    start_at: datetime | None = None,
) -> int:
    """Send until `count` are delivered or `stop` is set; how many were delivered."""
    messages = encode_readings(simulator, site.name, schemas, start_at or datetime.now(UTC))
    run = _Run(site, sender, stop, say)
    run.wait_for_topic(simulator.topic)
    run.send(islice(messages, count), Pace(simulator.rate, count))
    run.finish()
    return run.sender.delivered


def encode_readings(
    simulator: Simulator, site: str, schemas: Schemas, start_at: datetime
) -> Iterator[Message]:
    """Keys and values; the same seed and start give the same bytes."""
    start_ms = round(start_at.timestamp() * 1000)
    encode = _as_json if simulator.format == "json" else schemas.latest(simulator.topic).encode
    return (
        (reading.sensor_id.encode(), encode(_record(reading, start_ms)))
        for reading in readings(simulator, site)
    )


def stop_on_signals() -> Event:
    """Set by SIGTERM or Ctrl-C, so that a run ends after what it has begun."""
    stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop


def _record(reading: Reading, start_ms: int) -> dict[str, object]:
    return {
        "sensor_id": reading.sensor_id,
        "timestamp": start_ms + reading.elapsed_ms,
        "temperature": reading.temperature,
        "unit": reading.unit,
    }


def _as_json(record: dict[str, object]) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode()


class _Run:
    """One run of a simulator. It only waits inside `Sender.poll`, so a signal is soon seen."""

    def __init__(
        self, site: SiteSpec, sender: Sending, stop: Event, say: Callable[[str], None]
    ) -> None:
        self.sender = sender
        self._name = site.name
        self._stop = stop
        self._say = say
        self._said_at = time.monotonic()
        self._delivered_then = 0

    def wait_for_topic(self, topic: str) -> None:
        obstacle = self.sender.find_obstacle()
        if obstacle:
            self._say(f"waiting for topic {topic!r}: {obstacle}")
        while obstacle and not self._stop.is_set():
            self.sender.poll(1.0)
            obstacle = self.sender.find_obstacle()
            if obstacle and self._is_time_to_speak():
                self._say(f"still waiting for topic {topic!r}: {obstacle}")

    def send(self, messages: Iterator[Message], pace: Pace) -> None:
        started_at, sent = time.monotonic(), 0
        while not self._stop.is_set() and not pace.is_done(sent):
            now = time.monotonic() - started_at
            burst = min(pace.due(now) - sent, self.sender.room, _BURST)
            for key, value in islice(messages, burst):
                self.sender.send(key, value)
            sent += burst
            self.sender.poll(pace.wait_s(sent, time.monotonic() - started_at))
            self._report()

    def finish(self) -> None:
        """All that was begun is delivered; only one who is asked to stop gives up in the end."""
        stopped_at: float | None = None
        while self.sender.outstanding:
            if self._stop.is_set() and stopped_at is None:
                stopped_at = time.monotonic()
            if stopped_at and time.monotonic() - stopped_at > _LAST_WORDS_S:
                lost = f"{self.sender.outstanding:,} messages not delivered"
                self._say(f"stopped with {lost}: {self.sender.trouble()}")
                return
            self.sender.poll(0.2)
            self._report()

    def _report(self) -> None:
        since = self._said_at
        if not self._is_time_to_speak():
            return
        delivered = self.sender.delivered
        news = delivered - self._delivered_then
        self._delivered_then = delivered
        if news == 0 and self.sender.outstanding:
            waiting = f"{self.sender.outstanding:,} messages wait"
            self._say(f"{waiting}: {self.sender.trouble()}")
        else:
            rate = news / (self._said_at - since)
            self._say(f"site {self._name!r}: {delivered:,} delivered, {rate:,.0f}/s")

    def _is_time_to_speak(self) -> bool:
        now = time.monotonic()
        if now - self._said_at < _SAY_EVERY_S:
            return False
        self._said_at = now
        return True
