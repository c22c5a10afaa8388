"""One worker of a consumer group: start as many as you like, kill any, count once.

It keeps, per sensor, how many values came, their sum and the newest one. Results and the offset of
the next message are written in one transaction of one database. So whoever takes a partition over
begins exactly where its results end: nothing is lost, nothing is counted twice, and each sensor's
values are counted in their order.

    (umask 077; .venv/bin/millrace client plant-a --format json > var/app.json)
    .venv/bin/python examples/worker.py var/app.json temperature-data var/averages.db
"""

from __future__ import annotations

import argparse
import json
import signal
import sqlite3
from collections import defaultdict
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message, TopicPartition

SCHEMAS = Path(__file__).parents[1] / "schemas"
SETTINGS = {
    # A worker that comes or goes interrupts only the partitions that change hands.
    "partition.assignment.strategy": "cooperative-sticky",
    "enable.auto.commit": False,
    # Messages that the broker deleted before they were counted are an error, never a skip.
    "auto.offset.reset": "error",
}
TABLES = """
CREATE TABLE IF NOT EXISTS position (partition INTEGER PRIMARY KEY, next INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS sensor (
    id TEXT PRIMARY KEY, messages INTEGER NOT NULL, total REAL NOT NULL, newest REAL NOT NULL
);
"""
COUNT = """
INSERT INTO sensor VALUES (:sensor_id, 1, :temperature, :temperature)
ON CONFLICT (id) DO UPDATE
SET messages = messages + 1, total = total + excluded.total, newest = excluded.newest
"""
ADVANCE = """
INSERT INTO position VALUES (:partition, :next)
ON CONFLICT (partition) DO UPDATE SET next = excluded.next WHERE next = :before
"""


class Store:
    """Results, and the position they stand for. Many processes may share one file."""

    def __init__(self, file: Path) -> None:
        self._database = sqlite3.connect(file, timeout=30, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = FULL")
        self._database.executescript(TABLES)

    def next_offset(self, partition: int) -> int:
        """A partition that nobody has counted yet is counted from its oldest message."""
        found = self._database.execute(
            "SELECT next FROM position WHERE partition = ?", (partition,)
        ).fetchone()
        return int(found[0]) if found else OFFSET_BEGINNING

    def add(self, partition: int, before: int, messages: list[Message]) -> bool:
        """False, and nothing is added, when another worker went on from `before` already."""
        step = {"partition": partition, "before": before, "next": messages[-1].offset() + 1}
        self._database.execute("BEGIN IMMEDIATE")
        try:
            is_ours = self._database.execute(ADVANCE, step).rowcount == 1
            if is_ours:
                self._database.executemany(COUNT, (decode(one.value()) for one in messages))
            self._database.execute("COMMIT")
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        return is_ours


class Worker:
    def __init__(self, settings: dict[str, Any], topic: str, group: str, store: Store) -> None:
        self._topic = topic
        self._store = store
        self._next: dict[int, int] = {}
        self._consumer = Consumer({**settings, **SETTINGS, "group.id": group})
        self._consumer.subscribe([topic], on_assign=self._on_assign)
        self._stopping = False

    def stop(self, *_: object) -> None:
        self._stopping = True

    def run(self) -> None:
        while not self._stopping:
            for partition, messages in self._batch().items():
                self._process(partition, messages)
        self._consumer.close()

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """The store, not the broker, knows where to go on."""
        for one in partitions:
            one.offset = self._next[one.partition] = self._store.next_offset(one.partition)
        consumer.incremental_assign(partitions)

    def _batch(self) -> dict[int, list[Message]]:
        batch: dict[int, list[Message]] = defaultdict(list)
        for message in self._consumer.consume(500, timeout=0.5):
            if message.error():
                raise KafkaException(message.error())
            batch[message.partition()].append(message)
        return batch

    def _process(self, partition: int, messages: list[Message]) -> None:
        if self._store.add(partition, self._next[partition], messages):
            self._next[partition] = messages[-1].offset() + 1
            # For who watches the group's lag; nobody goes on from it.
            self._consumer.commit(message=messages[-1], asynchronous=True)
        else:
            self._go_on_where_the_store_is(partition)

    def _go_on_where_the_store_is(self, partition: int) -> None:
        """We were asleep, or our predecessor was and has just finished."""
        here = TopicPartition(self._topic, partition, self._store.next_offset(partition))
        self._next[partition] = here.offset
        if any(one.partition == partition for one in self._consumer.assignment()):
            self._consumer.seek(here)


def decode(value: bytes) -> dict[str, Any]:
    """JSON, or Avro behind a zero byte and the number of its schema."""
    if value[:1] != b"\0":
        return dict(json.loads(value))
    schema = schema_of(int.from_bytes(value[1:5], "big"))
    return fastavro.schemaless_reader(BytesIO(value[5:]), schema, None)


@cache
def schema_of(number: int) -> Any:
    file = next(SCHEMAS.glob(f"{number}-*.avsc"))
    return fastavro.schema.load_schema(str(file))


def main() -> None:
    parser = argparse.ArgumentParser(description="Count a topic's values, with others or alone.")
    parser.add_argument("settings", type=Path, help="from: millrace client SITE --format json")
    parser.add_argument("topic", help="such as temperature-data")
    parser.add_argument("store", type=Path, help="the database that the group's workers share")
    parser.add_argument("--group", default="app-averages", help="workers of one share the work")
    given = parser.parse_args()
    settings = json.loads(given.settings.read_text())
    worker = Worker(settings, given.topic, given.group, Store(given.store))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, worker.stop)
    worker.run()


if __name__ == "__main__":
    main()
