"""The runners of the race, each a process of its own: two providers, one consumer."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from threading import Event

from confluent_kafka import Consumer, Message, TopicPartition

from millrace.gateway.client.io.device import Address, Device, device_tls
from millrace.gateway.simulator.core.pacing import Pace
from millrace.kafka.core.header_names import SEQUENCE
from millrace.latency_benchmark.core import Count, Race
from millrace.sites.core.simulation import Simulator, readings
from millrace.sites.core.spec import ClientSettings

_POLL_S = 0.005
_BURST = 1_000
_START_MS = 1_700_000_000_000


@dataclass(frozen=True)
class Way:
    """To the gateway; a context of TLS cannot be handed to another process."""

    host: str
    port: int
    ca: str
    certificate: str


def provide(race: Race, number: int, rate: float, way: Way, ready: Event, go: Event) -> list[float]:
    """Returns the moments at which its first and last message were sent."""
    device = Device(Address(way.host, way.port, device_tls(way.ca, way.certificate)), f"p{number}")
    messages = list(_messages(race, number))
    device.poll(0)
    ready.set()
    go.wait()
    pace, began_s, sent = Pace(rate, race.each), time.monotonic(), 0
    while sent < race.each:
        burst = min(pace.due(time.monotonic() - began_s) - sent, device.room, _BURST)
        for message in islice(messages, sent, sent + burst):
            device.send(message)
        sent += burst
        device.poll(0 if burst == _BURST else _POLL_S)
    ended_s = time.monotonic()
    while device.outstanding:
        device.poll(_POLL_S)
    device.close()
    return [began_s, ended_s]


def _messages(race: Race, number: int) -> Iterator[bytes]:
    """The same on every run with the same seed."""
    simulator = Simulator(seed=race.seed + number, sensors=100)
    for reading in islice(readings(simulator, f"provider-{number}"), race.each):
        record = {
            "sensor_id": reading.sensor_id,
            "timestamp": _START_MS + reading.elapsed_ms,
            "temperature": reading.temperature,
            "unit": reading.unit,
        }
        line = json.dumps(record, separators=(",", ":"))
        if len(line) < race.size:
            line = json.dumps({**record, "padding": "x" * (race.size - len(line) - 13)})
        yield line.encode()


def consume(
    settings: ClientSettings,
    topic: str,
    partitions: int,
    count: int,
    ready: Event,
    patience_s: float,
) -> dict[str, float]:
    """Returns what was received, and when the first and the last of it were."""
    consumer = Consumer({**settings, "group.id": "app-race", "enable.auto.commit": False,
                         "fetch.wait.max.ms": 10})  # fmt: skip
    parts = [TopicPartition(topic, number) for number in range(partitions)]
    ends = [consumer.get_watermark_offsets(part, timeout=10)[1] for part in parts]
    consumer.assign([TopicPartition(topic, n, end) for n, end in enumerate(ends)])
    consumer.poll(1.0)
    ready.set()
    seen, first_s, last_s = Count(), 0.0, time.monotonic()
    while seen.received < count and time.monotonic() - last_s < patience_s:
        messages = consumer.consume(_BURST, _POLL_S)
        if messages:
            last_s = time.monotonic()
            first_s = first_s or last_s
        for message in messages:
            seen.see(message.partition() or 0, _number(message))
    consumer.close()
    return {"received": seen.received, "doubled": seen.doubled, "disordered": seen.disordered,
            "first_s": first_s, "last_s": last_s}  # fmt: skip


def _number(message: Message) -> int:
    headers = message.headers() or []
    value = dict(headers)[SEQUENCE]
    return int(value or 0)
