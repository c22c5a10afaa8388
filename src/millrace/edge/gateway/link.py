"""The way to the broker: a producer until it breaks, and what earlier ones have left there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from millrace.core.gateway.identity import Headers, content_of
from millrace.core.site import ClientSettings, SiteSpec
from millrace.edge.errors import SiteError, Watch, watched
from millrace.edge.header_bytes import are_readable

_DEFAULTS: ClientSettings = {
    # A broker that syncs each write does half the work of 2 ms, and stalls half as often.
    "linger.ms": 5,
    "compression.type": "lz4",
    # Keys go where Java's clients would put them.
    "partitioner": "murmur2_random",
    "reconnect.backoff.max.ms": 2_000,
    # A connection that leads nowhere is given up after so long; librdkafka's own is a minute.
    "socket.timeout.ms": 10_000,
    "socket.connection.setup.timeout.ms": 10_000,
    "queue.buffering.max.messages": 200_000,
    "topic.metadata.propagation.max.ms": 10_000,
}
_REQUIRED: ClientSettings = {
    "acks": "all",
    "enable.idempotence": True,
    # Nothing overtakes what was refused: the link breaks instead.
    "enable.gapless.guarantee": True,
    "message.timeout.ms": 0,
}
_TIMEOUT_S = 10.0
_CLOSE_S, _CLOSE_STEP_S = 5.0, 0.2
_READ_S = 0.1
OnDelivery = Callable[[KafkaError | None, Message], None]
Login = Callable[[], dict[str, str]]


class LinkBrokenError(SiteError):
    """A message was refused in the middle of others: all of them begin anew."""


@dataclass(frozen=True)
class TopicSight:
    """A topic as the broker shows it."""

    ends: Mapping[int, int] = field(default_factory=dict)
    # Why nothing can be sent to it; empty: nothing is known against it.
    refusal: str = ""


class Link:
    def __init__(self, site: SiteSpec, settings: ClientSettings, login: Login) -> None:
        self._login = login
        self._settings = {**_DEFAULTS, **settings, **login(), **_REQUIRED}
        self._site = site
        self._watch = Watch(site, self._settings)
        self._producer = Producer(watched(self._settings, self._watch))

    def produce(
        self, topic: str, key: bytes | None, value: bytes, headers: Headers, answer: OnDelivery
    ) -> None:
        self._producer.produce(topic, value, key, headers=headers, on_delivery=answer)

    def poll(self, timeout_s: float) -> None:
        """Raises where the producer has ended itself; `close` tells which messages are to blame."""
        try:
            self._producer.poll(timeout_s)
        except KafkaException as error:
            raise LinkBrokenError(self._site.name, error.args[0].str()) from error
        if self._watch.is_refused:
            self._take_login()

    def explain(self, error: KafkaError | None = None, name: str = "") -> SiteError:
        return self._watch.explain(error, name)

    def trouble(self) -> str:
        """What the broker's side was last heard to complain of; empty: nothing."""
        return str(self._watch.explain()) if self._watch.has_reason else ""

    def forget_trouble(self) -> None:
        self._watch.forget()

    def close(self) -> None:
        """What is on its way is waited for: the next link looks for what has arrived by then.

        A producer that has ended itself says so in the middle of its answers, as either error.
        """
        deadline_s = time.monotonic() + _CLOSE_S
        while len(self._producer) and time.monotonic() < deadline_s:
            with suppress(KafkaException, SystemError):
                # Also what comes back to the queue, to be tried again.
                self._producer.purge(in_queue=True, in_flight=False)
                self._producer.flush(_CLOSE_STEP_S)
        with suppress(KafkaException, SystemError):
            self._producer.purge()
            self._producer.flush(_CLOSE_STEP_S)

    def look_at(self, topic: str) -> TopicSight:
        """Raises a SiteError where nobody answers."""
        try:
            found = self._producer.list_topics(topic, timeout=_TIMEOUT_S).topics[topic]
        except KafkaException as error:
            self.poll(0)  # until now nobody let the watch hear the reason
            raise self._watch.explain(error.args[0], topic) from error
        if found.error:
            return TopicSight(refusal=str(self._watch.explain(found.error, topic)))
        with _Look(self._settings, self._watch) as look:
            return TopicSight(ends=look.ends(topic, sorted(found.partitions)))

    def read_back(
        self, topic: str, begins: Mapping[int, int], ends: Mapping[int, int]
    ) -> Iterator[tuple[Headers, int]]:
        """Headers and contents of all messages of a topic between these offsets."""
        with _Look(self._settings, self._watch) as look:
            yield from look.messages(topic, begins, ends)

    def _take_login(self) -> None:
        login = self._login()
        if login.items() <= self._settings.items():
            return
        self._settings |= login
        self._watch.forget()
        self._producer.set_sasl_credentials(login["sasl.username"], login["sasl.password"])


class _Look:
    """A consumer without a group, which leaves no trace."""

    def __init__(self, settings: ClientSettings, watch: Watch) -> None:
        self._watch = watch
        own = {
            key: value
            for key, value in settings.items()
            if key.split(".")[0] in ("bootstrap", "security", "sasl", "ssl", "socket", "client")
        }
        self._consumer = Consumer({**watched(own, watch), **_NO_GROUP})

    def __enter__(self) -> _Look:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def ends(self, topic: str, partitions: list[int]) -> dict[int, int]:
        return {number: self._bounds(topic, number)[1] for number in partitions}

    def messages(
        self, topic: str, begins: Mapping[int, int], ends: Mapping[int, int]
    ) -> Iterator[tuple[Headers, int]]:
        """Partition by partition, as there may be many messages."""
        for number, end in ends.items():
            begin = max(begins.get(number, 0), self._bounds(topic, number)[0])
            if begin < end:
                yield from self._read(topic, number, begin, end)

    def _read(self, topic: str, number: int, begin: int, end: int) -> Iterator[tuple[Headers, int]]:
        self._consumer.assign([TopicPartition(topic, number, begin)])
        at, deadline_s = begin, time.monotonic() + _TIMEOUT_S
        while at < end:
            messages = self._consumer.consume(5_000, _READ_S)
            if messages:
                deadline_s = time.monotonic() + _TIMEOUT_S
            elif time.monotonic() > deadline_s:
                raise self._watch.explain(None, topic)
            for message in messages:
                if error := message.error():
                    if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - its name
                        at = end
                        continue
                    raise self._watch.explain(error, topic)
                at = (message.offset() or 0) + 1
                yield _headers_of(message), content_of(message.key(), message.value())

    def _bounds(self, topic: str, number: int) -> tuple[int, int]:
        try:
            found = self._consumer.get_watermark_offsets(
                TopicPartition(topic, number, OFFSET_BEGINNING), timeout=_TIMEOUT_S
            )
        except KafkaException as error:
            self._consumer.poll(0)
            raise self._watch.explain(error.args[0], topic) from error
        return int(found[0]), int(found[1])


def _headers_of(message: Message) -> Headers:
    """None where names are no UTF-8: ours are."""
    found = (message.headers() if are_readable(message) else None) or []
    pairs = found.items() if isinstance(found, dict) else found
    return [(name, value) for name, value in pairs if isinstance(value, bytes)]


_NO_GROUP: ClientSettings = {
    "group.id": "gateway",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "earliest",
}
