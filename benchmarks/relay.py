"""The relay beside MirrorMaker 2, both exactly once: python -m benchmarks.relay [--rows N]."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks.contestants.mirror_maker import MirrorMaker
from benchmarks.stands.arena import PARTITIONS, Arena, open_arena
from benchmarks.stands.measure import Meter
from benchmarks.throughput import CONTROL, running, until
from millrace.kafka.core.kafka_client import admin_settings
from millrace.provisioning.io.provisioner import provision_site
from millrace.relay.core.relay_rights import wanted_at_site, wanted_at_target
from millrace.relay.core.spec import RelaySpec
from millrace.secrets.io.passwords import ensure_user
from millrace.sites.core.spec import ClientSettings
from tests.support import free_ports

TOPIC = "readings"
RELAY = RelaySpec(name="bench", sites=("arena",), topics=(TOPIC,), to="arena")
# A rate is taken between these shares of all records: neither start-up nor the last stragglers.
_FROM, _TO = 0.2, 0.9
_QUIET_S = 3.0
_STEP_S = 0.05


@dataclass(frozen=True)
class Haul:
    """A backlog, brought: `wall_s` is from the start of the process to the last record."""

    name: str
    rows: int
    first_s: float
    wall_s: float
    rows_per_s: float
    cpu_s_per_million: float
    # What all brokers used meanwhile, of both clusters.
    brokers_s_per_million: float
    peak_mb: float
    stolen: float


@dataclass(frozen=True)
class Delay:
    """What a reader at the target waits longer than one at the source."""

    name: str
    rate: int
    p50_ms: float
    p99_ms: float
    max_ms: float
    cores: float


@dataclass(frozen=True)
class Pair:
    """Two clusters, and who may bring what."""

    source: Arena
    target: Arena
    spec: RelaySpec = RELAY

    @property
    def sites(self) -> list[str]:
        """As which the one source is read: a relay of many sites reads it many times."""
        return list(self.spec.sites)

    def provision(self) -> None:
        for arena, wanted in (
            (self.source, wanted_at_site(self.spec)),
            (self.target, wanted_at_target(self.spec, self.sites)),
        ):
            password = _passwords(arena)
            provision_site(arena.site, wanted, _admin(arena), password)

    def relay(self, folder: Path) -> list[str]:
        file = folder / "relay.json"
        file.touch(0o600)
        race = {
            "relay": self.spec.model_dump(mode="json"),
            "sources": [_way(self.source, name) for name in self.sites],
            "target": _way(self.target, "arena"),
        }
        file.write_text(json.dumps(race))
        return [str(CONTROL), "-m", "benchmarks.contestants.relay", str(file)]

    def mirror_maker(self, folder: Path, one: MirrorMaker) -> list[str]:
        return one.command(folder, self.source, self.target, free_ports(1))


def _passwords(arena: Arena) -> Any:
    return lambda user: ensure_user(arena.layout, arena.site.name, user).password


def _way(arena: Arena, name: str) -> dict[str, Any]:
    named = arena.site.model_dump(mode="json") | {"name": name}
    return {"cluster": named, "settings": arena.client("relay")}


def _admin(arena: Arena) -> ClientSettings:
    certificate = arena.layout.certificate(arena.site.name, "admin")
    return admin_settings(arena.site, arena.layout.ca, certificate)


def brokers() -> list[psutil.Process]:
    """Of this process."""
    return [one for one in psutil.Process().children() if "kafka.Kafka" in one.cmdline()]


class Tide:
    """How far a topic of the target is committed, seen as time goes."""

    def __init__(self, arena: Arena, topic: str) -> None:
        own = {"group.id": "app-bench", "isolation.level": "read_committed"}
        self._consumer = Consumer({**_admin(arena), **own})
        self._topic = topic
        self._brokers = brokers()
        self.seen: list[tuple[float, int]] = []
        self.brokers_s: list[float] = []

    def look(self) -> int:
        """The sum of its ends; what it holds besides, markers, are a few."""
        topics = self._consumer.list_topics(timeout=10).topics
        parts = sorted(topics[self._topic].partitions) if self._topic in topics else []
        ends = [
            self._consumer.get_watermark_offsets(TopicPartition(self._topic, part), timeout=10)[1]
            for part in parts
        ]
        self.seen.append((time.time(), sum(ends)))
        self.brokers_s.append(sum(sum(one.cpu_times()[:2]) for one in self._brokers))
        return sum(ends)

    def is_still(self, rows: int) -> bool:
        now, end = time.time(), self.look()
        return end >= rows and all(e == end for at, e in self.seen if now - at < _QUIET_S)

    def at(self, share: float) -> float:
        goal = self.seen[-1][1] * share
        return next(at for at, end in self.seen if end >= goal)

    def brokers_between(self, begin: float, end: float) -> float:
        times = [at for at, _ in self.seen]
        return self.brokers_s[times.index(end)] - self.brokers_s[times.index(begin)]

    @property
    def first_at(self) -> float:
        return next(at for at, end in self.seen if end)

    @property
    def last_at(self) -> float:
        return next(at for at, end in self.seen if end == self.seen[-1][1])


def haul(name: str, command: list[str], pair: Pair, topic: str, rows: int, log: Path) -> Haul:
    tide = Tide(pair.target, topic)
    with running([command], log) as (started, meter):

        def is_done() -> bool:
            if meter.is_over():
                raise RuntimeError(f"{name} ended early:\n{log.read_text()[-3000:]}")
            return tide.is_still(rows)

        until(is_done, f"{name} brought not all", poll_s=_STEP_S)
    _check_counts(pair.target, topic, rows)
    return _summarise(name, tide, meter, started, rows)


def _summarise(name: str, tide: Tide, meter: Meter, started: float, rows: int) -> Haul:
    begin, end = tide.at(_FROM), tide.at(_TO)
    brought = rows * (_TO - _FROM)
    return Haul(
        name=name,
        rows=rows,
        first_s=tide.first_at - started,
        wall_s=tide.last_at - started,
        rows_per_s=brought / (end - begin),
        cpu_s_per_million=meter.cpu_between(begin, end) / brought * 1e6,
        brokers_s_per_million=tide.brokers_between(begin, end) / brought * 1e6,
        peak_mb=meter.peak_mb,
        stolen=meter.stolen_between(begin, end),
    )


def _check_counts(arena: Arena, topic: str, rows: int) -> None:
    """Whoever brought less, or more, has not won."""
    own = {
        "group.id": "app-bench",
        "isolation.level": "read_committed",
        "enable.partition.eof": True,
        "enable.auto.commit": False,
    }
    consumer = Consumer({**_admin(arena), **own})
    consumer.assign([TopicPartition(topic, part, 0) for part in range(PARTITIONS)])
    count, ended = 0, 0
    while ended < PARTITIONS:
        for message in consumer.consume(100_000, 1.0):
            if message.error():
                ended += 1
            else:
                count += 1
    consumer.close()
    if count != rows:
        raise RuntimeError(f"{topic} holds {count:,} records, not {rows:,}")


@dataclass
class Arrivals:
    """When each record comes to a reader of a topic, by its number."""

    arena: Arena
    topic: str
    at: dict[bytes, float] = field(default_factory=dict)
    _stop: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def noted(self) -> Iterator[None]:
        thread = threading.Thread(target=self._run, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    def _run(self) -> None:
        own = {"group.id": "app-bench", "isolation.level": "read_committed"}
        consumer = Consumer({**_admin(self.arena), **own, "enable.auto.commit": False})
        parts = [TopicPartition(self.topic, part) for part in range(PARTITIONS)]
        for part in parts:
            part.offset = consumer.get_watermark_offsets(part, timeout=10)[1]
        consumer.assign(parts)
        while not self._stop.is_set():
            message = consumer.poll(0.2)
            if message is not None and not message.error():
                self.at[message.value() or b""] = time.monotonic()
        consumer.close()


def delay(
    name: str, command: list[str], pair: Pair, topic: str, rate: int, for_s: int, log: Path
) -> Delay:
    here, there = Arrivals(pair.source, TOPIC), Arrivals(pair.target, topic)
    with running([command], log) as (_, meter):
        warm = Tide(pair.target, topic)
        before = warm.look()
        send(pair.source, rate, 10, b"warm")
        until(lambda: warm.look() >= before + rate * 10, f"{name} does not start", poll_s=0.2)
        with here.noted(), there.noted():
            time.sleep(1)
            begin = time.time()
            send(pair.source, rate, for_s, b"row")
            until(lambda: len(there.at) >= rate * for_s, f"{name} brought not all", poll_s=0.2)
            cores = meter.cpu_between(begin, time.time()) / (time.time() - begin)
    waits = sorted(1000 * (there.at[row] - here.at[row]) for row in there.at if row in here.at)
    return Delay(
        name=name,
        rate=rate,
        p50_ms=statistics.median(waits),
        p99_ms=waits[int(len(waits) * 0.99)],
        max_ms=waits[-1],
        cores=cores,
    )


def send(arena: Arena, rate: int, for_s: int, prefix: bytes) -> None:
    producer = Producer({**arena.client("app"), "linger.ms": 2})
    begin = time.monotonic()
    for number in range(rate * for_s):
        wait_s = begin + number / rate - time.monotonic()
        if wait_s > 0:
            producer.poll(wait_s)
        value = b"%s-%d" % (prefix, number)
        producer.produce(TOPIC, value, b"k%d" % (number % 100), partition=number % PARTITIONS)
    if producer.flush(60):
        raise RuntimeError("the source did not take all records")


@contextmanager
def open_pair(brokers: int = 3, spec: RelaySpec = RELAY) -> Iterator[Pair]:
    with (
        tempfile.TemporaryDirectory(prefix="millrace-bench-") as one,
        tempfile.TemporaryDirectory(prefix="millrace-bench-") as other,
        open_arena(Path(one)) as source,
        open_arena(Path(other), brokers=brokers) as target,
    ):
        pair = Pair(source, target, spec)
        pair.provision()
        yield pair


def measure(rows: int, rate: int, for_s: int, only: str = "") -> tuple[list[Haul], list[Delay]]:
    """One after the other, on the same two clusters; a target of three brokers."""
    if not any(only in name for name in ("relay", *_PEERS)):
        return [], []
    with open_pair() as pair:
        # Who is first would have brokers that have hardly compiled anything yet.
        pair.target.fill(rows)
        pair.source.fill(rows)
        folder = pair.source.layout.var
        who = {
            "relay": (pair.relay(folder), RELAY.target("arena", TOPIC)),
            **{
                name: (pair.mirror_maker(folder, one), one.topics[0])
                for name, one in _PEERS.items()
            },
        }
        asked = {name: one for name, one in who.items() if only in name}
        hauls, delays = [], []
        for name, (command, topic) in asked.items():
            hauls.append(haul(name, command, pair, topic, rows, folder / f"{name}.log"))
            say(str(hauls[-1]))
        for name, (command, topic) in asked.items():
            log = folder / f"{name}-delay.log"
            delays.append(delay(name, command, pair, topic, rate, for_s, log))
            say(str(delays[-1]))
    return hauls, delays


_PEERS = {
    "mirror-maker-2-tuned": MirrorMaker(("tuned",), is_tuned=True),
    "mirror-maker-2": MirrorMaker(("plain",), is_tuned=False),
}


def say(text: str) -> None:
    sys.stderr.write(text + "\n")


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.relay", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rate", type=int, default=1_000)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--only", default="")
    asked = parser.parse_args(arguments)
    os.sched_setaffinity(0, {0, 1} & os.sched_getaffinity(0))
    measure(asked.rows, asked.rate, asked.seconds, asked.only)


if __name__ == "__main__":
    main(sys.argv[1:])
