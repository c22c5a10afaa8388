"""Reads one site, in a thread of its own: a site that is away delays no other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import replace
from threading import Event

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from millrace.base.errors import MillraceError
from millrace.jobs.core.heartbeat import PartitionLag
from millrace.kafka.core.coordinates import Part
from millrace.kafka.io.client_errors import Watch, watched
from millrace.kafka.io.header_bytes import keep_bytes, unreadable
from millrace.relay.core.beat import SourceBeat
from millrace.relay.core.positions import Position, TopicIds
from millrace.relay.core.relay_plan import Halt, batch_records, other_target, prefetch_kb
from millrace.relay.core.relay_rights import GROUP
from millrace.relay.core.start import ReadStart, begin, check_first, renewed
from millrace.relay.io.cluster_login import Door
from millrace.relay.io.ids import Ear
from millrace.relay.io.inbox import Inbox, RelayedBatch
from millrace.relay.io.relay_ledger import RelayLedger
from millrace.relay.io.target import print_of
from millrace.sites.core.spec import ClientSettings

SETTINGS: ClientSettings = {
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
_POLL_S = 0.2
_LOOK_EVERY_S = 3.0
_LOOK_AGAIN_S = 1.0
# The target is asked this often for the ids of its topics.
_ROOM_EVERY_S = 60.0
_NOTE_EVERY_S = 0.5
_ASK_S = 5.0


class SiteReader:
    """Puts batches into `out` until `stop`; `room` makes the target's topics fit the site's, and
    returns their ids."""

    def __init__(
        self,
        door: Door,
        topics: Iterable[str],
        ledger: RelayLedger,
        out: Inbox,
        stop: Event,
        room: Callable[[str, Mapping[str, int]], dict[str, str]],
        sites: int = 1,
    ) -> None:
        self.site = door.cluster.name
        self.trouble = ""
        self._door, self._topics = door, tuple(topics)
        self._ledger, self._out, self._stop, self._room = ledger, out, stop, room
        self._watch = Watch(door.cluster, door.settings)
        own = {**SETTINGS, "queued.max.messages.kbytes": prefetch_kb(sites), **door.settings}
        self._ear = Ear()
        client = {**watched(own, self._watch), **self._ear.settings, "logger": self._ear}
        self._consumer = Consumer(client)
        self._assigned: set[Part] = set()
        # Of the topics that the consumer reads now.
        self._ids: dict[str, str] = {}
        self._origins: dict[str, TopicIds] = {}
        self._nameless: set[str] = set()
        # Set when the writer is done with all that was read before partitions were left.
        self._passed = Event()
        self._passed.set()
        # Whose next record is compared with what was brought.
        self._unproved: dict[Part, Position] = {}
        # What would halt a partition, in which topic, if it is found a second time.
        self._suspects: dict[Part, str] = {}
        # Taken from the client in passing, and not read yet.
        self._heard: list[Message] = []
        # Topics with headers that are read as bytes.
        self._raw: set[str] = set()
        self._at_once = batch_records(0, 0)
        self._ends: dict[Part, int] = {}
        self._look_at = self._note_at = self._room_at = 0.0

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
        known, topic_id = self._ledger.position(part), self._ids.get(part.topic)
        position = known.offset if known and known.topic_id == topic_id else 0
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
        there = {
            Part(self.site, topic, number)
            for topic, count in found.items()
            for number in range(count)
            if topic in self._ids
        }
        if new := sorted(there - self._assigned):
            self._look_at_target(found)
            self._take_up(new)
        elif time.monotonic() > self._room_at:
            self._look_at_target(found)
        self._let_go()
        self._look_at = time.monotonic() + self._pause_s(found.keys(), there)

    def _pause_s(self, found: Set[str], there: set[Part]) -> float:
        """A topic's id comes with the next read; what waits for the writer does not wait long."""
        before, self._nameless = self._nameless, found - self._ids.keys()
        if before & self._nameless:
            names = ", ".join(sorted(self._nameless))
            self.trouble = (
                f"its broker does not tell the id of {names}: it takes Kafka 2.8 or newer"
            )
            return _LOOK_AGAIN_S
        return _LOOK_EVERY_S if there <= self._assigned and not self._nameless else 0.1

    def _look_at_target(self, found: Mapping[str, int]) -> None:
        """Its topics may be others than those that records were brought to."""
        ids = self._room(self.site, found)
        # Another mapping, for the old one belongs to batches that are on their way.
        self._origins = {
            topic: TopicIds(self._ids[topic], target_id)
            for topic, target_id in ids.items()
            if topic in self._ids
        }
        for part in self._assigned:
            known, origin = self._ledger.position(part), self._origins.get(part.topic)
            if known and origin and known.target_id != origin.target_id:
                self._ledger.halt(other_target(part, known.offset))
        self._room_at = time.monotonic() + _ROOM_EVERY_S

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
        if not self._passed.is_set():
            return
        starts = {part: start for part in parts if (start := self._start(part))}
        self._tell_renewals(part for part, start in starts.items() if start.is_new)
        new = {part: one.position.offset for part, one in starts.items() if one.is_new}
        self._put(RelayedBatch(self.site, self._origins, positions=new))
        self._consumer.incremental_assign(
            [_at(part, start.read_from) for part, start in starts.items()]
        )
        for part, start in starts.items():
            self._suspects.pop(part, None)
            if start.position.last:
                self._unproved[part] = start.position
        self._assigned.update(starts)

    def _tell_renewals(self, begun: Iterable[Part]) -> None:
        for topic in {part.topic for part in begun if self._ledger.position(part)}:
            before = self._ledger.of_topic(self.site, topic)
            self._ledger.renew(renewed(self.site, topic, self._ids[topic], before))

    def _start(self, part: Part) -> ReadStart | None:
        """None: not now, or halted."""
        if part.topic not in self._origins:
            return None
        origin = self._origins[part.topic]
        outcome = begin(part, self._ledger.position(part), origin, *self._watermarks(part))
        if not isinstance(outcome, Halt):
            return outcome
        self._doubt(outcome, origin.topic_id)
        return None

    def _doubt(self, halt: Halt, topic_id: str) -> None:
        """The site's offsets may be those of a topic that was made anew a moment ago. Its id is
        known before the same is found again; if it is the same id, they were this topic's."""
        if self._suspects.get(halt.part) == topic_id:
            self._halt(halt)
        else:
            self._suspects[halt.part] = topic_id
            self._leave([halt.part])

    def _halt(self, halt: Halt) -> None:
        self._ledger.halt(halt)
        self._assigned.add(halt.part)
        self._let_go()

    def _leave(self, parts: Iterable[Part]) -> None:
        """To be taken up anew, with the next look."""
        left = set(parts)
        mine = {_at(part) for part in left} & set(self._consumer.assignment())
        if mine:
            self._consumer.incremental_unassign(list(mine))
        self._assigned -= left
        for part in left:
            self._unproved.pop(part, None)
        self._passed = Event()
        self._put(RelayedBatch(self.site, {}, passed=self._passed))
        self._look_at = 0.0

    def _heed_ids(self) -> None:
        for topic, topic_id in self._ear.take():
            if self._ids.get(topic, topic_id) != topic_id:
                self._leave({part for part in self._assigned if part.topic == topic})
                self._origins = {name: one for name, one in self._origins.items() if name != topic}
            self._ids[topic] = topic_id

    def _let_go(self) -> None:
        """Of what the target refuses."""
        halted = {_at(part) for part in self._assigned if self._ledger.is_halted(part)}
        mine = set(self._consumer.assignment())
        if halted & mine:
            self._consumer.incremental_unassign(list(halted & mine))

    def _read(self) -> None:
        """What was taken from the client is put away before anything else that may fail."""
        seen = self._take()
        good = [message for message in seen if message.error() is None]
        batch, problems = RelayedBatch(self.site, self._origins, good), []
        for message in seen:
            if (error := message.error()) is None:
                continue
            part = _part(self.site, message)
            if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - its name
                batch.positions[part] = message.offset() or 0
            else:
                problems.append((error, part))
        if seen:
            self._at_once = batch_records(len(batch.messages), batch.bytes)
        self._put(self._with_headers(self._proved(batch)))
        for error, part in problems:
            self._heed(error, part)
        self._heed_ids()

    def _take(self) -> list[Message]:
        """Without messages that may be of a topic that was made anew in the meantime: it is read
        from its beginning, and the old one is gone."""
        seen, self._heard = self._heard, []
        if not (seen or self._ear.has_news):
            first = self._consumer.poll(_POLL_S)
            # A message is as long as its value, so one without is as false as none.
            if first is not None:
                seen = [first]
            if seen and not self._ear.has_news:
                seen += self._consumer.consume(self._at_once, 0)
        if not self._ear.has_news:
            return seen
        changed = self._ear.changed(self._ids)
        return [message for message in seen if message.topic() not in changed]

    def _proved(self, batch: RelayedBatch) -> RelayedBatch:
        """The first record after a start tells whether this is still the log that was brought."""
        if not self._unproved:
            return batch
        limits: dict[Part, int] = {}
        known: set[int] = set()
        for message in batch.messages:
            part, offset = _part(self.site, message), message.offset() or 0
            if begun := self._unproved.pop(part, None):
                if halt := check_first(part, begun, offset, print_of(message)):
                    self._halt(halt)
                    limits[part] = 0
                elif offset < begun.offset:
                    known.add(id(message))
        for part in batch.positions:  # at its end, and the record is not there any more
            self._unproved.pop(part, None)
        rest = [message for message in batch.messages if id(message) not in known]
        return replace(batch, messages=rest).before(limits)

    def _with_headers(self, batch: RelayedBatch) -> RelayedBatch:
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
        message = self._consumer.poll(0)
        if message is not None:
            self._heard.append(message)

    def _heed(self, error: KafkaError, part: Part) -> None:
        if error.code() == KafkaError._AUTO_OFFSET_RESET:  # noqa: SLF001 - its name
            self._on_no_such_offset(part)
        else:
            self._have_trouble(str(self._watch.explain(error, part.topic)))

    def _on_no_such_offset(self, part: Part) -> None:
        """Retention was faster than we, or the broker lost what it had."""
        asked = self._consumer.position([_at(part)])[0].offset
        known = self._ledger.position(part)
        if asked < 0 or known is None or part.topic not in self._origins:
            self._leave([part])
            return
        origin = self._origins[part.topic]
        position = known._replace(topic_id=origin.topic_id, offset=asked)
        outcome = begin(part, position, origin, *self._watermarks(part))
        if isinstance(outcome, Halt):
            self._doubt(outcome, origin.topic_id)
        else:
            self._consumer.seek(_at(part, asked))

    def _watermarks(self, part: Part) -> tuple[int, int]:
        try:
            low, high = self._consumer.get_watermark_offsets(_at(part), timeout=_ASK_S)
        except KafkaException as error:
            raise self._watch.explain(error.args[0], part.topic) from error
        return low, high

    def _put(self, batch: RelayedBatch) -> None:
        if not (batch.messages or batch.positions or batch.passed):
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
