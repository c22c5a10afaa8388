"""Transactions at the target: what they bring and how far that is, in one commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from millrace.base.errors import MillraceError, TransientError
from millrace.kafka.core.coordinates import Part
from millrace.kafka.io.client_errors import Watch, watched
from millrace.kafka.io.header_bytes import RawHeaders, produce
from millrace.relay.core.positions import Mark, Position, encode, fingerprint
from millrace.relay.core.relay_plan import MESSAGE_BYTES, CallVerdict, judge
from millrace.relay.core.spec import RelaySpec
from millrace.relay.io.inbox import RelayedBatch
from millrace.sites.core.spec import ClientSettings, SiteSpec

# Where a record was at its site: `1234@id`, the offset and the id of its topic.
ORIGIN_HEADER = "millrace-origin"
_RAW_ORIGIN_HEADER = ORIGIN_HEADER.encode()
Header = tuple[str, str | bytes | None]
_CALL_S = 5.0
SETTINGS: ClientSettings = {
    # A request goes out in pieces, and none should wait for the answer to the one before.
    "socket.nagle.disable": True,
    "acks": "all",
    "enable.idempotence": True,
    "transaction.timeout.ms": 60_000,
    "linger.ms": 5,
    "delivery.report.only.error": True,
    "compression.type": "lz4",
    "batch.size": 1_000_000,
    "batch.num.messages": 100_000,
    "message.max.bytes": MESSAGE_BYTES,
    "queue.buffering.max.messages": 200_000,
    "queue.buffering.max.kbytes": 256 * 1024,
    "reconnect.backoff.max.ms": 1_000,
}
# Of the record itself: sent again it would be refused again.
_REFUSALS = {
    KafkaError.MSG_SIZE_TOO_LARGE,
    KafkaError.RECORD_LIST_TOO_LARGE,
    KafkaError.INVALID_RECORD,
    KafkaError.INVALID_TIMESTAMP,
}


_NO_RIGHT = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}


class LostTransactionError(TransientError):
    """This producer may not go on: begin anew, from what is committed."""


class AbortedError(Exception):
    """Nothing of this transaction counts; it may be tried again."""

    def __init__(self, reason: KafkaError) -> None:
        super().__init__(reason.str())
        self.is_refusal = reason.code() in _REFUSALS


class Target:
    """`begin`, `produce`, `note`, `commit`; an AbortedError takes all of it back.

    Every wait is in steps, and `wait` is called between them: it ends a wait by raising.
    """

    def __init__(
        self,
        relay: RelaySpec,
        cluster: SiteSpec,
        settings: ClientSettings,
        wait: Callable[[KafkaError], None],
    ) -> None:
        self._relay = relay
        self._wait = wait
        self.watch = Watch(cluster, settings)
        # A coordinator is busy with a commit for a while after it has been decided. So the next
        # transaction is another producer's; it begins when nothing can undo the one before.
        self._producers = [
            Producer(watched({**SETTINGS, **settings, "transactional.id": name}, self.watch))
            for name in relay.transactional_ids
        ]
        self._producer = self._producers[0]

    def open(self) -> None:
        """From here on whoever had our name before cannot commit any more."""
        for producer in self._producers:
            self._call(partial(producer.init_transactions, _CALL_S))

    def begin(self) -> None:
        self._producers.append(self._producers.pop(0))
        self._producer = self._producers[0]
        self._call(self._producer.begin_transaction)

    def produce(self, batch: RelayedBatch) -> dict[Part, Position]:
        """The positions behind its messages."""
        last: dict[tuple[str, int], Any] = {}
        names: dict[str, str] = {}
        origins: dict[str, bytes] = {}
        message: Any  # of those that are no errors nothing is None that the types say might be
        for message in batch.messages:
            topic, partition = message.topic(), message.partition()
            if topic not in names:
                names[topic] = self._relay.target(batch.site, topic)
                origins[topic] = batch.origins[topic].topic_id.encode()
            last[topic, partition] = message
            self._send(
                names[topic],
                message.value(),
                message.key(),
                partition,
                _with_own(message.headers(), b"%d@%b" % (message.offset(), origins[topic])),
                message.timestamp()[1],
            )
        return dict(_behind(batch, message) for message in last.values())

    def note(self, positions: Mapping[Part, Position]) -> None:
        for part, position in positions.items():
            key, value = encode(part, position)
            self._send(self._relay.positions_topic, value, key, 0)

    def commit(self) -> None:
        self._call(partial(self._producer.commit_transaction, _CALL_S))
        self.watch.forget()

    def take_login(self, login: Mapping[str, str]) -> None:
        for producer in self._producers:
            producer.set_sasl_credentials(login["sasl.username"], login["sasl.password"])

    def knows(self, topic: str, partitions: int) -> bool:
        """Whether the producers have heard of so many partitions; asking makes them listen."""
        try:
            found = [one.list_topics(topic, timeout=_CALL_S).topics for one in self._producers]
        except KafkaException:
            return False
        return all(len(topics[topic].partitions) >= partitions for topics in found)

    def _send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int,
        headers: Any = None,
        timestamp: int = 0,
    ) -> None:
        while True:
            try:
                if type(headers) is RawHeaders:
                    return produce(self._producer, topic, value, key, partition, timestamp, headers)
                # By place: names cost a tenth of what a record costs here.
                return self._producer.produce(
                    topic, value, key, partition, None, None, timestamp, headers
                )
            except BufferError:
                self._producer.poll(0.05)
            except KafkaException as error:
                self._give_up(error.args[0])

    def _call(self, call: Callable[[], None]) -> None:
        while True:
            try:
                return call()
            except KafkaException as problem:
                error = problem.args[0]
                verdict = judge(
                    retriable=error.retriable(), requires_abort=error.txn_requires_abort()
                )
                if verdict is CallVerdict.ABORT:
                    self._give_up(error)
                if verdict is CallVerdict.END:
                    raise self._lost(error) from problem
                self._wait(error)

    def _lost(self, error: KafkaError) -> MillraceError:
        if error.code() in _NO_RIGHT:
            return self.watch.explain(error, ", ".join(self._relay.transactional_ids))
        return LostTransactionError(
            f"relay {self._relay.name!r}: another one of this name has taken over, or the target"
            f" ended its transaction; start it anew ({error.str()})"
        )

    def _give_up(self, reason: KafkaError) -> None:
        self._call(partial(self._producer.abort_transaction, _CALL_S))
        if reason.code() in _NO_RIGHT:
            raise self.watch.explain(reason, f"of relay {self._relay.name}")
        raise AbortedError(reason)


def _with_own(headers: Any, own: bytes) -> list[Header] | RawHeaders:
    """Those of the record, and where it was."""
    if type(headers) is RawHeaders:
        return RawHeaders([*headers, (_RAW_ORIGIN_HEADER, own)])
    return [(ORIGIN_HEADER, own)] if headers is None else [*headers, (ORIGIN_HEADER, own)]


def _behind(batch: RelayedBatch, message: Any) -> tuple[Part, Position]:
    part = Part(batch.site, message.topic(), message.partition())
    last = Mark(message.offset(), print_of(message))
    return part, batch.position(part, last.offset + 1, last)


def print_of(message: Any) -> int:
    return fingerprint(message.key(), message.value(), message.timestamp()[1])
