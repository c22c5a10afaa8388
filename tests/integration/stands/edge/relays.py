"""A relay under test: its process, a load at its source, and what came of it at its target."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from millrace.kafka.io.header_bytes import headers_of
from millrace.relay.core.beat import RelayBeat
from millrace.relay.core.relay_rights import wanted_at_site, wanted_at_target
from millrace.relay.core.spec import RelaySpec
from millrace.relay.io.cluster_login import Door
from millrace.relay.io.target import ORIGIN_HEADER
from millrace.sites.core.spec import ClientSettings
from millrace.sites.core.user_names import RELAY
from millrace.storage.io.files import read_text, write_atomic
from tests.integration.conftest import CHECKOUT, RunningSite
from tests.integration.stands.edge.relay_child import Order, Way
from tests.support import wait_until

START_TIMEOUT_S = 40.0
Headers = list[tuple[bytes, bytes | None]]


class Record(NamedTuple):
    """All of a record that a relay has to keep; `offset` is the source's."""

    offset: int
    key: bytes | None
    value: bytes | None
    time_ms: int
    headers: Headers


@dataclass
class RelayBed:
    """One relay, from running sites to a running target; at most one process of it at a time."""

    spec: RelaySpec
    sources: tuple[RunningSite, ...]
    target: RunningSite
    folder: Path
    process: subprocess.Popen[bytes] | None = None
    starts: int = field(default=0)
    # More settings of its client at the target.
    hasty: ClientSettings = field(default_factory=dict)
    # Who it is at the target.
    user: str = RELAY

    def provision(self) -> None:
        for source in self.sources:
            source.provision(wanted_at_site(self.spec))
        names = [source.spec.name for source in self.sources]
        self.target.provision(wanted_at_target(self.spec, names))

    def start(self, step: str = "", transaction: int = 3, after_ms: float = 0) -> None:
        self.starts += 1
        order = Order(
            relay=self.spec,
            sources=tuple(_way(source) for source in self.sources),
            target=_way(self.target, self.hasty, self.user),
            beat=self.beat_file,
            step=step,
            transaction=transaction,
            after_ms=after_ms,
        )
        file = self.folder / "order.json"
        write_atomic(file, order.model_dump_json())
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.integration.stands.edge.relay_child", str(file)],
                cwd=CHECKOUT,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def await_end(self, timeout_s: float = START_TIMEOUT_S) -> int:
        assert self.process
        code = self.process.wait(timeout_s)
        self.process = None
        return code

    def kill(self) -> None:
        if self.process:
            with suppress(ProcessLookupError):
                self.process.kill()
            self.process.wait(10)
            self.process = None

    def stop(self) -> int:
        assert self.process
        self.process.terminate()
        return self.await_end()

    def door(self, site: RunningSite) -> Door:
        return _way(site).door

    @contextmanager
    def supervised(self) -> Iterator[None]:
        """Started again whenever it ends, as a process manager does."""
        over = threading.Event()

        def care() -> None:
            while not over.wait(0.2):
                if self.process is None or self.process.poll() is not None:
                    self.start()

        carer = threading.Thread(target=care, daemon=True)
        carer.start()
        try:
            yield
        finally:
            over.set()
            carer.join()
            self.kill()

    def await_messages(self, count: int, timeout_s: float = 60.0) -> None:
        """So many since its process began."""
        wait_until(lambda: self.beat and self.beat.messages > count, timeout_s, "at work")

    @property
    def log(self) -> Path:
        return self.folder / "relay.log"

    @property
    def beat_file(self) -> Path:
        return self.folder / "state.json"

    @property
    def beat(self) -> RelayBeat | None:
        text = read_text(self.beat_file)
        return RelayBeat.model_validate_json(text) if text else None

    def brought(self, topic: str, site: RunningSite | None = None) -> dict[int, list[Record]]:
        """What a reader of committed records finds at the target."""
        name = self.spec.target((site or self.sources[0]).spec.name, topic)
        return {
            number: [_at_source(record) for record in records]
            for number, records in read_all(self.target.settings("app"), name).items()
        }

    def await_all(self, topic: str, timeout_s: float = 60.0) -> None:
        """Until as much is there as was sent, and a moment more: doubles would come then."""
        for source in self.sources:
            sent = read_all(source.settings("app"), topic)
            wait_until(
                lambda sent=sent, source=source: (
                    _counts(self.brought(topic, source)) == _counts(sent)
                ),
                timeout_s,
                f"all of {_counts(sent)} brought; the relay says {self.log.read_text()[-2000:]}",
                poll_s=0.3,
            )

    def assert_exactly_once(self, topic: str) -> int:
        """Every record once, whole, in its order; how many there are."""
        total = 0
        for source in self.sources:
            sent = read_all(source.settings("app"), topic)
            brought = self.brought(topic, source)
            for number, records in sent.items():
                pairs = zip(brought[number], records, strict=True)
                assert not (wrong := [pair for pair in pairs if pair[0] != pair[1]]), wrong[:3]
            assert set(brought) == set(sent)
            total += sum(_counts(sent).values())
        return total

    @property
    def lag(self) -> int | None:
        return self.beat.lag_records if self.beat else None


def _counts(records: Mapping[int, list[Record]]) -> dict[int, int]:
    return {number: len(ones) for number, ones in records.items() if ones}


def _way(site: RunningSite, more: ClientSettings | None = None, user: str = RELAY) -> Way:
    return Way(cluster=site.spec, settings={**site.settings(user), **(more or {})})


def _at_source(record: Record) -> Record:
    """As it was before the relay added where it was."""
    *headers, (name, origin) = record.headers
    assert name == ORIGIN_HEADER.encode()
    place, _, topic_id = (origin or b"").partition(b"@")
    assert topic_id
    return record._replace(offset=int(place), headers=headers)


def read_all(settings: ClientSettings, topic: str) -> dict[int, list[Record]]:
    """All committed records that are there now, by partition."""
    consumer = Consumer(
        {
            **settings,
            "group.id": "app-test",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    try:
        seen = consumer.list_topics(topic, timeout=10).topics[topic]
        found: dict[int, list[Record]] = {number: [] for number in seen.partitions}
        consumer.assign([TopicPartition(topic, number, 0) for number in found])
        _read_into(found, consumer, topic)
        return found
    finally:
        consumer.close()


def _read_into(found: dict[int, list[Record]], consumer: Consumer, topic: str) -> None:
    open_ones = set(found)
    deadline = time.monotonic() + 30
    while open_ones:
        assert time.monotonic() < deadline, f"{topic} could not be read to its end"
        for message in consumer.consume(10_000, 0.2):
            error = message.error()
            number = message.partition() or 0
            if error is None:
                found[number].append(
                    Record(
                        message.offset() or 0,
                        message.key(),
                        message.value(),
                        message.timestamp()[1],
                        list(headers_of(message)),
                    )
                )
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - its name
                open_ones.discard(number)


class Load:
    """Records of every shape, without a pause, until told to stop."""

    def __init__(self, site: RunningSite, topic: str, rate: int = 2_000, partitions: int = 3):
        self._site, self._topic, self._rate, self._partitions = site, topic, rate, partitions
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.sent = 0
        self.unsent = 0

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """All that was begun is there."""
        self._stop.set()
        self._thread.join()
        assert self.unsent == 0

    def _run(self) -> None:
        producer = Producer(
            {
                **self._site.settings("app"),
                "enable.idempotence": True,
                "linger.ms": 5,
                "message.timeout.ms": 0,
                "reconnect.backoff.max.ms": 500,
            }
        )
        began = time.monotonic()
        records = self._records()
        while not self._stop.wait(0.01):
            due = int((time.monotonic() - began) * self._rate)
            for _ in range(min(due - self.sent, 5_000)):
                partition, key, value, headers = next(records)
                producer.produce(self._topic, value, key, partition, headers=headers)
                self.sent += 1
            producer.poll(0)
        self.unsent = producer.flush(60)

    def _records(self) -> Iterator[tuple[int, bytes | None, bytes | None, list[tuple[str, bytes]]]]:
        """Tombstones, no keys, empty values, headers: also several of one name."""
        chance = random.Random(7)
        number = 0
        while True:
            key = f"key-{chance.randrange(50)}".encode() if chance.random() < 0.9 else None
            text = f"value-{number}-".encode() + b"x" * chance.randrange(200)
            value = text if number % 20 else chance.choice([b"", None])
            headers = [("n", str(number).encode()), ("n", b"again")] if number % 3 else []
            yield number % self._partitions, key, value, headers
            number += 1
