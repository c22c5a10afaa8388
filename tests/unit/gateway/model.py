"""A gateway's delivery in a world without time: the real forwarder, couriers, windows and ledgers
on spools, files and a broker that are lists. What happens, a random number decides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from random import Random
from typing import NamedTuple

from confluent_kafka import KafkaError

from millrace.core.gateway.identity import Found, Headers, content_of
from millrace.core.gateway.ledger import Heading, Ledger
from millrace.core.gateway.look_back import TopicSight
from millrace.core.gateway.records import Draft, Record
from millrace.core.gateway.window import Progress, Window
from millrace.edge.errors import SiteError
from millrace.edge.gateway.courier import Courier
from millrace.edge.gateway.forwarder import Forwarder, LinkBrokenError, OnDelivery

TOPICS = ("t", "u")
PARTITIONS = 2
INPUTS = ("busy", "idle")
PATIENCE_S = 5.0
TOO_LARGE = b"too large"
_READ = 4


class Name(NamedTuple):
    """Of a message at the broker; a stranger's has none."""

    producer: object
    epoch: object
    number: object


Entry = tuple[Headers, bytes, bytes]


def name_of(headers: Headers) -> Name:
    found = dict(headers)
    parts = ("millrace-producer", "millrace-epoch", "millrace-seq")
    return Name(*(found.get(part) for part in parts))


class Topic:
    """One incarnation: its partitions are logs."""

    def __init__(self, number: int) -> None:
        self.id = f"id-{number}"
        self.logs: list[list[Entry]] = [[] for _ in range(PARTITIONS)]
        # All that was ever in it, whatever it has forgotten since.
        self.ever: list[list[Entry]] = [[] for _ in range(PARTITIONS)]
        self.refuses = False

    def append(self, part: int, entry: Entry) -> int:
        self.logs[part].append(entry)
        self.ever[part].append(entry)
        return len(self.logs[part]) - 1


class Answered:
    def __init__(self, part: int, offset: int) -> None:
        self._part, self._offset = part, offset

    def partition(self) -> int:
        return self._part

    def offset(self) -> int:
        return self._offset


class Request(NamedTuple):
    topic: str
    part: int
    entry: Entry
    answer: OnDelivery


class Broker:
    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self.is_up = True
        self.made = 0
        self.topics: dict[str, Topic] = {}
        self.incarnations: list[tuple[str, Topic]] = []
        for name in TOPICS:
            self.make_anew(name)

    def make_anew(self, name: str) -> None:
        self.made += 1
        self.topics[name] = Topic(self.made)
        self.incarnations.append((name, self.topics[name]))

    def forget(self, name: str) -> None:
        """As one that was restored to an older state."""
        for log in self.topics[name].logs:
            del log[self._chance.randrange(len(log) + 1) :]

    def write_by_a_stranger(self) -> None:
        topic = self.topics[self._chance.choice(TOPICS)]
        for _ in range(self._chance.randrange(1, 6)):
            topic.append(self._chance.randrange(PARTITIONS), ([], b"", b"a stranger's"))


class Look:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.read: list[tuple[str, int]] = []

    def at(self, topic: str) -> TopicSight:
        if not self._broker.is_up:
            raise SiteError("plant-m", "nobody answers")
        found = self._broker.topics[topic]
        if found.refuses:
            return TopicSight(refusal="no right")
        ends = {number: len(log) for number, log in enumerate(found.logs)}
        return TopicSight(found.id, dict.fromkeys(ends, 0), ends)

    def messages(
        self, topic: str, begins: Mapping[int, int], ends: Mapping[int, int]
    ) -> Iterator[Found]:
        for number, end in ends.items():
            for headers, key, value in self._broker.topics[topic].logs[number][
                begins[number] : end
            ]:
                yield headers, content_of(key, value)


class Link:
    """An idempotent producer: what it sends again within its life is there once, and in order."""

    def __init__(self, broker: Broker, chance: Random, *, is_calm: bool) -> None:
        self._broker = broker
        self._chance = chance
        self._is_calm = is_calm
        self._queue: list[Request] = []
        # Appended, and not answered yet.
        self._owed: list[tuple[Request, int]] = []
        self._is_dead = False

    @contextmanager
    def look(self) -> Iterator[Look]:
        yield Look(self._broker)

    def produce(
        self, topic: str, key: bytes | None, value: bytes, headers: Headers, answer: OnDelivery
    ) -> None:
        if len(self._queue) > 20:
            raise BufferError
        key = key or b""
        self._queue.append(Request(topic, key[-1] % PARTITIONS, (headers, key, value), answer))

    def explain(self, error: KafkaError | None = None, name: str = "") -> SiteError:
        return SiteError("plant-m", f"{error} {name}")

    def poll(self, _: float) -> None:
        if self._is_dead or not self._broker.is_up or self._happens(0.04):
            raise LinkBrokenError("plant-m", "the link is cut")
        for request in self._queue[: self._chance.randrange(1, 9)]:
            if self._is_dead:
                return
            self._queue.remove(request)
            self._send(request)
        while self._owed and not self._happens(0.3):
            request, offset = self._next_answer()
            known = -1001 if self._happens(0.1) else offset
            request.answer(None, Answered(request.part, known))  # type: ignore[arg-type]

    def _next_answer(self) -> tuple[Request, int]:
        """Of any partition; those of one come in order."""
        any_part = self._chance.choice(self._owed)[0][:2]
        first = next(one for one in self._owed if one[0][:2] == any_part)
        self._owed.remove(first)
        return first

    def _send(self, request: Request) -> None:
        topic = self._broker.topics[request.topic]
        if topic.refuses:
            self._refuse(request, KafkaError.TOPIC_AUTHORIZATION_FAILED, 1)
        elif request.entry[2] == TOO_LARGE:
            self._refuse(request, KafkaError.MSG_SIZE_TOO_LARGE, self._chance.randrange(1, 4))
        else:
            self._owed.append((request, topic.append(request.part, request.entry)))

    def _refuse(self, request: Request, code: int, batch: int) -> None:
        """With those of its batch; nothing behind it is sent by this link."""
        self._is_dead = True
        same = [one for one in self._queue if one[:2] == request[:2]][: batch - 1]
        for one in [request, *same]:
            one.answer(KafkaError(code), None)  # type: ignore[arg-type]

    def close(self) -> list[Request]:
        """What is on its way arrives or does not; which, nobody hears. What is left may come late,
        where a process was killed and its link cut in the same moment."""
        while self._queue and not self._is_dead and self._broker.is_up and self._happens(0.5):
            request = self._queue.pop(0)
            topic = self._broker.topics[request.topic]
            if topic.refuses or request.entry[2] == TOO_LARGE:
                break
            topic.append(request.part, request.entry)
        return self._queue

    def _happens(self, probability: float) -> bool:
        return not self._is_calm and self._chance.random() < probability


class Spool:
    """Of one input; also its pages, and what is kept of its progress and its dead letters."""

    def __init__(self, epoch: int) -> None:
        self._ledger = Ledger(Heading(epoch=epoch))
        self.records: dict[int, Record] = {}
        self.may_be_a_copy = False
        self.first_index = 0
        self.oldest_s: int | None = None
        self.damaged_bytes = 0
        self.position = 0
        self._progress = Progress()
        self.base = 0
        self.dropped: set[int] = set()
        self.letters: dict[int, Record] = {}
        self.is_full_of_letters = False
        self.obstacle = ""
        self.count = 0

    @property
    def epoch(self) -> int:
        return self._ledger.epoch

    @property
    def next_index(self) -> int:
        return self._ledger.next_index

    def keep(self, drafts: list[Draft]) -> list[Record]:
        kept = [one for one in self._ledger.enter(drafts) if isinstance(one, Record)]
        self.records.update({one.serial: one for one in kept})
        return kept

    def drop(self, count: int) -> None:
        """The oldest of what is here, as a full spool does; the newest stay."""
        until = min(self.first_index + count, self.next_index - 1)
        for serial in range(self.first_index, until):
            self.records.pop(serial, None)
            if serial >= self.base:
                self.dropped.add(serial)
        self.first_index = max(self.first_index, until)

    def trim(self, base: int) -> None:
        self.base = base
        self.drop(max(0, base - _READ - self.first_index))

    def next_number(self, topic: bytes) -> int:
        return self._ledger.next_number(topic)

    def begin_life(self, _: Record | None = None) -> None:
        raise AssertionError("nobody else has given its numbers")

    def named(self, records: Iterable[Record]) -> list[Record]:
        return list(records)

    def read_pages(self) -> list[Record]:
        begin = max(self.position, self.first_index)
        serials = range(begin, min(begin + _READ, self.next_index))
        self.position = max(begin, serials.stop)
        return [self.records[serial] for serial in serials]

    def seek(self, index: int) -> None:
        self.position = index

    def close(self) -> None:
        return

    # Progress.

    def read(self) -> Progress:
        return self._progress

    def write(self, progress: Progress) -> None:
        self._progress = progress


class Pages:
    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self.damaged_bytes = 0
        spool.position = spool.read().base
        self.seek, self.close, self.read = spool.seek, spool.close, spool.read_pages

    @property
    def position(self) -> int:
        return self._spool.position


class Letters:
    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self.count = 0
        self.obstacle = ""

    def write(self, letters: list[tuple[Record, str]]) -> bool:
        if self._spool.is_full_of_letters and letters:
            self.obstacle = "no room"
            return False
        self.obstacle = ""
        for record, _ in letters:
            assert record.serial not in self._spool.letters, "written twice"
            self._spool.letters[record.serial] = record
        return True

    def are_written(self, record: Record) -> bool:
        return record.serial in self._spool.letters

    def give_back(self, _: int) -> None:
        return


def is_done(window: Window, serial: int) -> bool:
    done_before = window._ahead  # noqa: SLF001 - what a rewind has put there
    return window.is_done(serial) or any(begin <= serial < end for begin, end in done_before)


class Counting(Courier):
    """Counts what is read back for it though nothing waits."""

    in_vain = 0

    def find(self, topic: str, messages: Iterable[Found]) -> None:
        found = list(messages)
        if self.window.base == self.spool.next_index:
            Counting.in_vain += len(found)
        super().find(topic, found)


class Gateway:
    """A process after the other on the same spools."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.broker = Broker(self.chance)
        self.spools = {name: Spool(epoch) for epoch, name in enumerate(INPUTS, 1)}
        # All that was answered as safe.
        self.kept: dict[str, list[Record]] = {name: [] for name in INPUTS}
        # Since which incarnation, of which input: what has to be in it, or in a later one.
        self.owed: list[tuple[int, str, set[int]]] = []
        self.now_s = 0.0
        self.link: Link | None = None
        Counting.in_vain = 0
        self.patience_s = self.chance.choice([None, PATIENCE_S])
        self.start()

    def start(self) -> None:
        self.couriers = [
            Counting("plant-m", name, spool, Pages(spool), spool, Letters(spool))
            for name, spool in self.spools.items()
        ]
        topics = dict.fromkeys(INPUTS, TOPICS)
        self.forwarder = Forwarder(
            self.couriers, topics, self.patience_s, lambda: self.now_s, lambda: False
        )

    def take(self, name: str, count: int) -> None:
        drafts = []
        for _ in range(count):
            key = b"k%d" % self.chance.randrange(4)
            value = TOO_LARGE if self.chance.random() < 0.02 else b"%d" % self.chance.randrange(9)
            topic = self.chance.choices(["t", "u", ""], [60, 30, 1])[0]
            drafts.append(Draft(topic.encode(), key, value))
        self.kept[name] += self.spools[name].keep(drafts)

    def work(self, *, is_calm: bool = False) -> None:
        """As a delivering thread does, for a moment."""
        self.now_s += 1.0
        try:
            if self.link is None:
                self.link = Link(self.broker, self.chance, is_calm=is_calm)
                self.forwarder.begin(self.link)
            self.forwarder.feed(self.link)
            self.link.poll(0)
        except SiteError:
            self.forwarder.is_broken = True
        if self.forwarder.is_broken or self.forwarder.refusals:
            self.cut()
        for courier in self.couriers:
            if is_calm or self.chance.random() < 0.5:
                courier.save()
            assert courier.window.remembered <= 2 * (50 + len(self.spools[courier.name].records))

    def cut(self) -> list[Request]:
        if self.link is None:
            return []
        left = self.link.close()
        self.link = None
        self.forwarder.end()
        return left

    def kill(self) -> list[Request]:
        left = self.cut()
        self.start()
        return left

    def arrive_late(self, requests: list[Request]) -> None:
        for request in requests:
            topic = self.broker.topics[request.topic]
            if not topic.refuses and request.entry[2] != TOO_LARGE:
                topic.append(request.part, request.entry)

    def owe_to_the_next(self, topic: str) -> None:
        """Nothing is on its way: what is not known to be done is the next incarnation's."""
        for courier in self.couriers:
            window = courier.window
            left = [one for one in self.kept[courier.name] if one.draft.topic == topic.encode()]
            serials = {one.serial for one in left if not is_done(window, one.serial)}
            self.owed.append((len(self.broker.incarnations), courier.name, serials))

    def come_to_rest(self) -> None:
        self.broker.is_up = True
        for topic in self.broker.topics.values():
            topic.refuses = False
        for spool in self.spools.values():
            spool.is_full_of_letters = False
        self.cut()
        for _ in range(400):
            self.work(is_calm=True)
            if all(one.window.base == one.spool.next_index for one in self.couriers):
                return
