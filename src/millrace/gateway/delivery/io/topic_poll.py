"""Looks at topics as they are at the broker, and at what stands in them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec

from millrace.gateway.delivery.core.look_back import TopicView
from millrace.gateway.spool.core.message_identity import Found, Headers, content_of
from millrace.kafka.io.client_errors import Watch, watched
from millrace.kafka.io.header_bytes import are_readable
from millrace.sites.core.spec import ClientSettings

_TIMEOUT_S = 10.0
_READ_S = 0.1
_MOST_AT_ONCE = 5_000
_OWN: ClientSettings = {
    "group.id": "gateway",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "earliest",
    # Who sees committed messages alone sees none of ours behind another user's open transaction.
    "isolation.level": "read_uncommitted",
}
_BOUNDS = (OffsetSpec.earliest(), OffsetSpec.latest())  # type: ignore[no-untyped-call]
_TAKEN_OVER = ("bootstrap", "security", "sasl", "ssl", "socket", "client")


class TopicPoll:
    """Clients that leave no trace, for as long as it takes."""

    def __init__(self, settings: ClientSettings, watch: Watch) -> None:
        self._watch = watch
        own = {key: one for key, one in settings.items() if key.split(".")[0] in _TAKEN_OVER}
        self._settings = watched(own, watch)
        self._consumer = Consumer({**self._settings, **_OWN})
        self._admin = AdminClient(self._settings)

    def __enter__(self) -> TopicPoll:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def at(self, topic: str) -> TopicView:
        """Raises a SiteError where nobody answers."""
        try:
            found = self._consumer.list_topics(topic, timeout=_TIMEOUT_S).topics[topic]
            if found.error:
                return TopicView(refusal=str(self._watch.explain(found.error, topic)))
            # The id first: where the topic is made anew meanwhile, what follows does not fit it,
            # and the next look sees another.
            topic_id = self._id_of(topic)
            begins, ends = self._bounds(topic, sorted(found.partitions))
        except KafkaException as error:
            self._consumer.poll(0)  # until now nobody let the watch hear the reason
            raise self._watch.explain(error.args[0], topic) from error
        return TopicView(topic_id, begins, ends)

    def messages(
        self, topic: str, begins: Mapping[int, int], ends: Mapping[int, int]
    ) -> Iterator[Found]:
        """All between these offsets, partition by partition, as they may be many."""
        for number, end in ends.items():
            if begins[number] < end:
                yield from self._read(topic, number, begins[number], end)

    def _id_of(self, topic: str) -> str:
        asked = self._admin.describe_topics(TopicCollection([topic]), request_timeout=_TIMEOUT_S)
        try:
            return _shown(asked[topic].result().topic_id)
        except KafkaException as error:
            if error.args[0].code() == KafkaError._UNSUPPORTED_FEATURE:  # noqa: SLF001 - its name
                return ""  # of a broker that is older than ids
            raise

    def _bounds(self, topic: str, numbers: list[int]) -> tuple[dict[int, int], dict[int, int]]:
        parts = [TopicPartition(topic, number) for number in numbers]
        begins, ends = (self._offsets(parts, spec) for spec in _BOUNDS)
        return begins, ends

    def _offsets(self, parts: list[TopicPartition], spec: OffsetSpec) -> dict[int, int]:
        asked = self._admin.list_offsets(
            dict.fromkeys(parts, spec),
            isolation_level=IsolationLevel.READ_UNCOMMITTED,
            request_timeout=_TIMEOUT_S,
        )
        return {part.partition: int(one.result().offset) for part, one in asked.items()}

    def _read(self, topic: str, number: int, begin: int, end: int) -> Iterator[Found]:
        self._consumer.assign([TopicPartition(topic, number, begin)])
        at, deadline_s = begin, time.monotonic() + _TIMEOUT_S
        while at < end:
            messages = self._consumer.consume(_MOST_AT_ONCE, _READ_S)
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


def _shown(topic_id: object) -> str:
    """Empty for the id that says that there is none."""
    text = str(topic_id)
    return "" if text in ("", "None", _NO_ID) else text


_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"


def _headers_of(message: Message) -> Headers:
    """None where names are no UTF-8: ours are."""
    found = (message.headers() if are_readable(message) else None) or []
    pairs = found.items() if isinstance(found, dict) else found
    return [(name, value) for name, value in pairs if isinstance(value, bytes)]
