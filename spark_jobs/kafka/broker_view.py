"""A broker's own view of its topics, by a light client that joins no group and commits nothing."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from datetime import datetime
from typing import cast

from confluent_kafka import (
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from millrace.ingest.core.ingest_spec import SiteInput
from millrace.ingest.core.lag import HeldOffsets, Partition
from millrace.kafka.core.record_time import believable
from spark_jobs.kafka.login import KafkaLogin

log = logging.getLogger(__name__)

# As timestamps, these ask for the ends of a partition.
_END, _BEGINNING = -1, -2
# The last offsets of a partition may be markers of transactions, which are no records.
_TAIL = 4

_LIGHT = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "allow.auto.create.topics": False,
    "auto.offset.reset": "earliest",
    # Told where nothing more is to come, or markers at a partition's end would be waited behind.
    "enable.partition.eof": True,
    # One record is wanted, never a backlog.
    "queued.min.messages": 1,
    "queued.max.messages.kbytes": 64,
    # A partition whose queue was full a moment ago is not left alone for a second.
    "fetch.queue.backoff.ms": 10,
    "max.partition.fetch.bytes": 1024,
    "fetch.wait.max.ms": 100,
    "reconnect.backoff.max.ms": 5_000,
    "log.connection.close": False,
}


class Broker:
    def __init__(self, site: SiteInput, group: str, timeout_s: float = 5.0) -> None:
        self._site = site
        self._group = group
        self._timeout_s = timeout_s
        self._client: Consumer | None = None
        self._login = KafkaLogin(site)
        self._partitions: list[Partition] = []
        self._listed_at_s = 0.0

    def bounds(self) -> dict[Partition, HeldOffsets]:
        """What the broker holds; raises KafkaException while it does not answer."""
        partitions = self._known_partitions()
        low, high = self._offsets(partitions, _BEGINNING), self._offsets(partitions, _END)
        return {p: HeldOffsets(low[p], high[p]) for p in partitions if p in low and p in high}

    def offsets_at(self, at: datetime, partitions: list[Partition]) -> dict[Partition, int]:
        """The first offset at or after a time; where there is none, the end."""
        return self.offsets_from(int(at.timestamp() * 1000), partitions)

    def offsets_from(self, time_ms: int, partitions: list[Partition]) -> dict[Partition, int]:
        """The same of a time that may be outside of Python's calendar."""
        found = self._offsets(partitions, time_ms)
        none = [part for part, offset in found.items() if offset < 0]
        return found | self._offsets(none, _END)

    def times_at(self, offsets: Mapping[Partition, int]) -> dict[Partition, datetime]:
        """The time of the first record at or after each offset, where one comes in time."""
        if not offsets:
            return {}
        client = self._connect()
        client.assign([TopicPartition(*part, offset) for part, offset in offsets.items()])
        try:
            return self._first_times(client, len(offsets))
        finally:
            client.unassign()

    def stamps_at(self, offsets: Mapping[Partition, int]) -> dict[Partition, tuple[int, int]]:
        """Offset and time of the first record at or after each offset, where one comes in time."""
        if not offsets:
            return {}
        client = self._connect()
        client.assign([TopicPartition(*part, offset) for part, offset in offsets.items()])
        found: dict[Partition, tuple[int, int]] = {}
        deadline_s = time.monotonic() + self._timeout_s
        try:
            while len(found) < len(offsets) and time.monotonic() < deadline_s:
                record = client.poll(0.1)
                if record is None or record.error():
                    continue
                found.setdefault(_part_of(record), (record.offset() or 0, record.timestamp()[1]))
                client.incremental_unassign([TopicPartition(*_part_of(record))])
        finally:
            client.unassign()
        return found

    def newest_times(self, ends: Mapping[Partition, int]) -> dict[Partition, datetime]:
        """The time of the last record before each end, where one comes in time."""
        if not ends:
            return {}
        client = self._connect()
        begins = [TopicPartition(*part, max(0, end - _TAIL)) for part, end in ends.items()]
        client.assign(begins)
        try:
            return self._last_times(client, dict(ends))
        finally:
            client.unassign()

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    def _connect(self) -> Consumer:
        if self._client is None:
            self._client = Consumer({**self._settings(), **self._login.settings()}, logger=log)
        else:
            self._login.renew(self._client)
        return self._client

    def _settings(self) -> dict[str, object]:
        return {"group.id": self._group, **_LIGHT, **self._site.librdkafka}

    def _known_partitions(self, refresh_s: float = 30.0) -> list[Partition]:
        now_s = time.monotonic()
        if not self._partitions or now_s - self._listed_at_s > refresh_s:
            self._partitions = [p for topic in self._site.topics for p in self._list(topic)]
            self._listed_at_s = now_s
        return self._partitions

    def _list(self, topic: str) -> list[Partition]:
        found = self._connect().list_topics(topic, timeout=self._timeout_s).topics[topic]
        return [(topic, number) for number in found.partitions]

    def _offsets(self, partitions: list[Partition], time_ms: int) -> dict[Partition, int]:
        if not partitions:
            return {}
        asked = [TopicPartition(*part, time_ms) for part in partitions]
        answers = self._connect().offsets_for_times(asked, timeout=self._timeout_s)
        failed = next((answer.error for answer in answers if answer.error), None)
        if failed:
            self._partitions = []
            raise KafkaException(failed)
        return {(answer.topic, answer.partition): answer.offset for answer in answers}

    def _first_times(self, client: Consumer, count: int) -> dict[Partition, datetime]:
        times: dict[Partition, datetime] = {}
        deadline_s = time.monotonic() + 1.0
        while len(times) < count and time.monotonic() < deadline_s:
            record = client.poll(0.1)
            if record is None or record.error():
                continue
            self._keep_first(times, record)
            # A full queue of one partition would keep the others from being fetched.
            client.incremental_unassign([TopicPartition(*_part_of(record))])
        return times

    def _keep_first(self, times: dict[Partition, datetime], record: Message) -> None:
        if (at := _time_of(record)) is not None:
            times.setdefault(_part_of(record), at)

    def _last_times(
        self, client: Consumer, ends: dict[Partition, int]
    ) -> dict[Partition, datetime]:
        """A partition is left at its end, which is the given one or where nothing more comes."""
        times: dict[Partition, datetime] = {}
        deadline_s = time.monotonic() + 1.0
        while ends and time.monotonic() < deadline_s:
            record = client.poll(0.1)
            if record is None or (part := _part_of(record)) not in ends:
                continue
            if not record.error() and (at := _time_of(record)) is not None:
                times[part] = at
            if _is_at_end(record, ends[part]):
                del ends[part]
                client.incremental_unassign([TopicPartition(*part)])
        return times


def _part_of(record: Message) -> Partition:
    return cast("Partition", (record.topic(), record.partition()))


def _time_of(record: Message) -> datetime | None:
    kind, milliseconds = record.timestamp()
    if kind == TIMESTAMP_NOT_AVAILABLE:
        return None
    return believable(milliseconds)


def _is_at_end(record: Message, end: int) -> bool:
    error = record.error()
    if error is not None:
        return error.code() == KafkaError._PARTITION_EOF  # noqa: SLF001 - its name
    return cast("int", record.offset()) >= end - 1
