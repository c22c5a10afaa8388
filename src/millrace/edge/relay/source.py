"""Reads one site, in a thread of its own: a site that is away delays no other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from threading import Event

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from millrace.core.coordinates import Part
from millrace.core.errors import MillraceError
from millrace.core.heartbeat import PartitionLag
from millrace.core.relay_beat import SourceBeat
from millrace.core.relay_plan import Halt, batch_records, begin
from millrace.core.relay_rights import GROUP
from millrace.core.site import ClientSettings
from millrace.edge.errors import Watch, watched
from millrace.edge.header_bytes import keep_bytes, unreadable
from millrace.edge.relay.door import Door
from millrace.edge.relay.inbox import Batch, Inbox
from millrace.edge.relay.ledger import Ledger

_SETTINGS: ClientSettings = {
    # A request goes out in pieces, and none should wait for the answer to the one before.
    "socket.nagle.disable": True,
    "group.id": GROUP,
    "isolation.level": "read_committed",
    # Never skip what is gone: say so.
    "auto.offset.reset": "error",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "fetch.queue.backoff.ms": 10,
    "fetch.error.backoff.ms": 100,
    "queued.min.messages": 100_000,
    "reconnect.backoff.max.ms": 1_000,
}
# What all sites together may have waiting in memory, and the least that one gets of it.
_PREFETCH_KB = 64 * 1024
_LEAST_PREFETCH_KB = 1024
_POLL_S = 0.2
_LOOK_EVERY_S = 3.0
_LOOK_AGAIN_S = 1.0
_NOTE_EVERY_S = 0.5
_ASK_S = 5.0


class SiteReader:
    """Puts batches into `out` until `stop`; `room` makes the target's topics fit the site's."""

    def __init__(
        self,
        door: Door,
        topics: Iterable[str],
        ledger: Ledger,
        out: Inbox,
        stop: Event,
        room: Callable[[str, Mapping[str, int]], None],
        sites: int = 1,
    ) -> None:
        self.site = door.cluster.name
        self.trouble = ""
        self._door, self._topics = door, tuple(topics)
        self._ledger, self._out, self._stop, self._room = ledger, out, stop, room
        self._watch = Watch(door.cluster, door.settings)
        prefetch = max(_LEAST_PREFETCH_KB, _PREFETCH_KB // sites)
        own = {**_SETTINGS, "queued.max.messages.kbytes": prefetch, **door.settings}
        self._consumer = Consumer(watched(own, self._watch))
        self._assigned: set[Part] = set()
        # Taken from the client in passing, and not read yet.
        self._heard: list[Message] = []
        # Topics with headers that are read as bytes.
        self._raw: set[str] = set()
        self._at_once = batch_records(0, 0)
        self._ends: dict[Part, int] = {}
        self._look_at = self._note_at = 0.0

    def run(self) -> None:
        try:
            while not self._stop.is_set():
                try:
                    self._look_when_due()
                    self._read()
                    self._note_ends()
                except (MillraceError, KafkaException) as error:
                    self._have_trouble(str(error))
        finally:
            self._consumer.close()

    def beat(self) -> SourceBeat:
        parts = tuple(self._lag(part) for part in sorted(self._assigned))
        return SourceBeat(site=self.site, trouble=self.trouble, partitions=parts)

    def _lag(self, part: Part) -> PartitionLag:
        position = self._ledger.position(part) or 0
        end = max(position, self._ends.get(part, 0))
        return PartitionLag(topic=part.topic, partition=part.partition, position=position, end=end)

    def _note_ends(self) -> None:
        """As they came with the last records; asks nobody."""
        now = time.monotonic()
        if now < self._note_at:
            return
        self._note_at = now + _NOTE_EVERY_S
        for part in self._assigned:
            _, self._ends[part] = self._consumer.get_watermark_offsets(_at(part), cached=True)

    def _look_when_due(self) -> None:
        """For topics and partitions that are new."""
        if time.monotonic() < self._look_at:
            return
        found = self._partitions()
        there = {Part(self.site, topic, n) for topic, count in found.items() for n in range(count)}
        new = sorted(there - self._assigned)
        if new:
            self._room(self.site, found)
            self._take_up(new)
        self._let_go()
        self._look_at = time.monotonic() + _LOOK_EVERY_S

    def _partitions(self) -> dict[str, int]:
        found, problems = {}, []
        for topic in self._topics:
            try:
                seen = self._consumer.list_topics(topic, timeout=_ASK_S).topics[topic]
            except KafkaException as error:
                self._hear()
                raise self._watch.explain(error.args[0], topic) from error
            if seen.error:
                problems.append(str(self._watch.explain(seen.error, topic)))
            else:
                found[topic] = len(seen.partitions)
        self.trouble = "; ".join(problems)
        return found

    def _take_up(self, parts: list[Part]) -> None:
        """The start of what nobody ever read is written down too: from here on none is skipped."""
        starts = {
            part: self._watermarks(part)[0] for part in parts if self._ledger.position(part) is None
        }
        self._put(Batch(self.site, positions=starts))
        offsets = {part: starts.get(part, self._ledger.position(part) or 0) for part in parts}
        self._consumer.incremental_assign([_at(part, offset) for part, offset in offsets.items()])
        self._assigned.update(parts)

    def _let_go(self) -> None:
        """Of what the target refuses."""
        halted = {_at(part) for part in self._assigned if self._ledger.is_halted(part)}
        mine = set(self._consumer.assignment())
        if halted & mine:
            self._consumer.incremental_unassign(list(halted & mine))

    def _read(self) -> None:
        """What was taken from the client is put away before anything else that may fail."""
        first = self._heard.pop(0) if self._heard else self._consumer.poll(_POLL_S)
        if first is None:
            return
        seen = (first, *self._consumer.consume(self._at_once, 0))
        batch = Batch(self.site, [message for message in seen if message.error() is None])
        problems = []
        for message in seen:
            if (error := message.error()) is None:
                continue
            part = _part(self.site, message)
            if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - its name
                batch.positions[part] = message.offset() or 0
            else:
                problems.append((error, part))
        self._at_once = batch_records(len(batch.messages), batch.bytes)
        self._put(self._with_headers(batch))
        for error, part in problems:
            self._heed(error, part)

    def _with_headers(self, batch: Batch) -> Batch:
        """Names that are no UTF-8 cost a record its headers when they are asked for as text. So it
        is read again, and from there on headers of its topic are read as bytes."""
        lost: dict[Part, int] = {}
        for message in batch.messages if self._raw else ():
            if message.topic() in self._raw:
                keep_bytes(message)
        for message in unreadable(batch.messages):
            lost.setdefault(_part(self.site, message), message.offset() or 0)
        for part, offset in lost.items():
            self._raw.add(part.topic)
            self._consumer.seek(_at(part, offset))
        return batch.before(lost) if lost else batch

    def _hear(self) -> None:
        """Lets the watch hear why a call failed; nobody did until now."""
        if message := self._consumer.poll(0):
            self._heard.append(message)

    def _heed(self, error: KafkaError, part: Part) -> None:
        if error.code() == KafkaError._AUTO_OFFSET_RESET:  # noqa: SLF001 - its name
            self._on_no_such_offset(part)
        else:
            self._have_trouble(str(self._watch.explain(error, part.topic)))

    def _on_no_such_offset(self, part: Part) -> None:
        """Retention was faster than we, or the topic is another one."""
        asked = self._consumer.position([_at(part)])[0].offset
        position = asked if asked >= 0 else self._ledger.position(part)
        outcome = begin(part, position, *self._watermarks(part))
        if isinstance(outcome, Halt):
            self._ledger.halt(outcome)
            self._let_go()
        else:
            self._consumer.seek(_at(part, outcome))

    def _watermarks(self, part: Part) -> tuple[int, int]:
        try:
            low, high = self._consumer.get_watermark_offsets(_at(part), timeout=_ASK_S)
        except KafkaException as error:
            raise self._watch.explain(error.args[0], part.topic) from error
        return low, high

    def _put(self, batch: Batch) -> None:
        if not (batch.messages or batch.positions):
            return
        while not self._stop.is_set():
            if self._out.put(batch, _POLL_S):
                return

    def _have_trouble(self, text: str) -> None:
        self.trouble = text
        self._look_at = time.monotonic() + _LOOK_AGAIN_S
        if self._watch.is_refused:
            login = self._door.login()
            self._consumer.set_sasl_credentials(login["sasl.username"], login["sasl.password"])


def _at(part: Part, offset: int = 0) -> TopicPartition:
    return TopicPartition(part.topic, part.partition, offset)


def _part(site: str, message: Message) -> Part:
    return Part(site, message.topic() or "", message.partition() or 0)
