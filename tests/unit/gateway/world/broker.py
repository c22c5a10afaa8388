"""A broker of lists that drops, repeats, delays and forgets, and a link to it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from random import Random
from typing import NamedTuple

from confluent_kafka import KafkaError

from millrace.gateway.delivery.core.look_back import TopicView
from millrace.gateway.delivery.io.forwarder import LinkBrokenError, OnDelivery
from millrace.gateway.spool.core.message_identity import Found, Headers, content_of
from millrace.kafka.io.client_errors import SiteError

TOPICS = ("t", "u")
PARTITIONS = 2
TOO_LARGE = b"L"
_MOST_QUEUED = 20

# Headers, key and value; a stranger's has no headers.
Entry = tuple[Headers, bytes, bytes]


class Chance(Random):
    """Quicker than `randrange` and `choice`, which are most of a life's time otherwise."""

    def below(self, end: int) -> int:
        return int(self.random() * end)

    def happens(self, probability: float) -> bool:
        return self.random() < probability


class Topic:
    """One incarnation: its partitions are logs."""

    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self.id = f"id-{number}"
        self.logs: list[list[Entry]] = [[] for _ in range(PARTITIONS)]
        # All that was ever in it, whatever it has forgotten since.
        self.ever: list[list[Entry]] = [[] for _ in range(PARTITIONS)]
        self.refuses = False

    def append(self, part: int, entry: Entry) -> int:
        log = self.logs[part]
        log.append(entry)
        self.ever[part].append(entry)
        return len(log) - 1

    def values_of(self, producer: str) -> set[bytes]:
        """All that it ever had of a producer."""
        entries = (entry for log in self.ever for entry in log if entry[0])
        return {value for headers, _, value in entries if headers[1][1] == producer.encode()}


class Broker:
    def __init__(self, chance: Chance) -> None:
        self._chance = chance
        self.is_up = True
        self.topics: dict[str, Topic] = {}
        self.incarnations: list[Topic] = []
        for name in TOPICS:
            self.make_anew(name)

    def make_anew(self, name: str) -> None:
        self.topics[name] = Topic(name, len(self.incarnations))
        self.incarnations.append(self.topics[name])

    def forget(self, name: str) -> None:
        """As one that was restored to an older state."""
        for log in self.topics[name].logs:
            del log[self._chance.below(len(log) + 1) :]

    def write_by_a_stranger(self) -> None:
        topic = self.topics[TOPICS[self._chance.below(2)]]
        for _ in range(1 + self._chance.below(12)):
            topic.append(self._chance.below(PARTITIONS), ([], b"", b"a stranger's"))


class Look:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def at(self, topic: str) -> TopicView:
        if not self._broker.is_up:
            raise SiteError("plant-m", "nobody answers")
        found = self._broker.topics[topic]
        if found.refuses:
            return TopicView(refusal="no right")
        ends = {number: len(log) for number, log in enumerate(found.logs)}
        return TopicView(found.id, dict.fromkeys(ends, 0), ends)

    def messages(
        self, topic: str, begins: Mapping[int, int], ends: Mapping[int, int]
    ) -> Iterator[Found]:
        logs = self._broker.topics[topic].logs
        for number, end in ends.items():
            for headers, key, value in logs[number][begins[number] : end]:
                yield headers, content_of(key, value)


class Request(NamedTuple):
    topic: str
    part: int
    entry: Entry
    answer: OnDelivery


class Answered:
    __slots__ = ("_offset", "_part")

    def __init__(self, part: int, offset: int) -> None:
        self._part, self._offset = part, offset

    def partition(self) -> int:
        return self._part

    def offset(self) -> int:
        return self._offset


class Link:
    """An idempotent producer: what it sends again within its life is there once, and in order."""

    def __init__(self, broker: Broker, chance: Chance, *, is_calm: bool) -> None:
        self._broker = broker
        self._chance = chance
        self._is_calm = is_calm
        self._queue: deque[Request] = deque()
        # Appended, and not answered yet; answers of one partition come in order.
        self._owed: dict[tuple[str, int], deque[tuple[Request, int]]] = {}
        self._is_dead = False

    @contextmanager
    def look(self) -> Iterator[Look]:
        yield Look(self._broker)

    def produce(
        self, topic: str, key: bytes | None, value: bytes, headers: Headers, answer: OnDelivery
    ) -> None:
        if len(self._queue) > _MOST_QUEUED:
            raise BufferError
        key = key or b""
        self._queue.append(Request(topic, key[-1] % PARTITIONS, (headers, key, value), answer))

    def explain(self, error: KafkaError | None = None, name: str = "") -> SiteError:
        return SiteError("plant-m", f"{error} {name}")

    def poll(self, _: float) -> None:
        if self._is_dead or not self._broker.is_up or self._happens(0.04):
            raise LinkBrokenError("plant-m", "the link is cut")
        for _ in range(min(len(self._queue), 1 + self._chance.below(12))):
            self._send(self._queue.popleft())
            if self._is_dead:
                return
        while self._owed and not self._happens(0.2):
            self._answer_one()

    def _answer_one(self) -> None:
        """Of any partition."""
        parts = list(self._owed)
        part = parts[self._chance.below(len(parts))]
        request, offset = self._owed[part].popleft()
        if not self._owed[part]:
            del self._owed[part]
        # Of a message that the broker had already, it does not say where.
        known = -1001 if self._happens(0.1) else offset
        request.answer(None, Answered(request.part, known))  # type: ignore[arg-type]

    def _send(self, request: Request) -> None:
        name, part, entry, _ = request
        topic = self._broker.topics[name]
        if topic.refuses:
            self._refuse(request, KafkaError.TOPIC_AUTHORIZATION_FAILED, 1)
        elif entry[2].startswith(TOO_LARGE):
            self._refuse(request, KafkaError.MSG_SIZE_TOO_LARGE, 1 + self._chance.below(3))
        else:
            owed = self._owed.setdefault((name, part), deque())
            owed.append((request, topic.append(part, entry)))

    def _refuse(self, request: Request, code: int, batch: int) -> None:
        """With those of its batch; nothing behind it is sent by this link."""
        self._is_dead = True
        same = [one for one in self._queue if one[:2] == request[:2]][: batch - 1]
        for one in [request, *same]:
            one.answer(KafkaError(code), None)  # type: ignore[arg-type]

    def close(self) -> deque[Request]:
        """What is on its way arrives or does not; which, nobody hears. What is left may come late,
        where a process was killed and its link cut in the same moment."""
        while self._queue and not self._is_dead and self._broker.is_up and self._happens(0.5):
            if not arrive(self._broker, self._queue.popleft()):
                break
        return self._queue

    def _happens(self, probability: float) -> bool:
        return not self._is_calm and self._chance.random() < probability


def arrive(broker: Broker, request: Request) -> bool:
    """False: it was refused, and nobody hears of that."""
    topic = broker.topics[request.topic]
    if topic.refuses or request.entry[2].startswith(TOO_LARGE):
        return False
    topic.append(request.part, request.entry)
    return True
