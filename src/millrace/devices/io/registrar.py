"""Reads and writes a site's registrations: three compacted topics, keyed by id."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from millrace.devices.core.registration import MODELS, Registered, RegisteredKind, Thing
from millrace.devices.core.registration_change import RegistrationChange
from millrace.kafka.io.client_errors import SiteError, UnreachableError, Watch, watched
from millrace.schemas.io.avro import Schemas, schema_id
from millrace.sites.core.spec import ClientSettings, SiteSpec
from millrace.sites.core.user_names import REGISTRAR

_TIMEOUT_S = 15.0
_PAUSE_MAX_S = 0.5
_SILENT = logging.getLogger(f"{__name__}.librdkafka")
_SILENT.disabled = True
_KINDS = {kind.topic: kind for kind in RegisteredKind}
_READ: Mapping[str, Any] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    "auto.offset.reset": "earliest",
    # The end is told at once, not after half a second in which something might come.
    "fetch.wait.max.ms": 10,
}
_WRITE: Mapping[str, Any] = {
    "transactional.id": REGISTRAR,
    # What a killed registrar has begun keeps nobody waiting for longer.
    "transaction.timeout.ms": 10_000,
    # That it is shut out, librdkafka would cry out on stderr at any level.
    "logger": _SILENT,
}
# Another registrar began after us: what we decided, we decided on an old state.
_OVERTAKEN = (
    KafkaError._FENCED,  # noqa: SLF001 - public, but spelt so by librdkafka
    KafkaError.PRODUCER_FENCED,
    KafkaError.INVALID_PRODUCER_EPOCH,
    KafkaError.CONCURRENT_TRANSACTIONS,
    # A commit of which nobody knows whether it was: who decides again will see.
    KafkaError.UNKNOWN,
)
Decide = Callable[[Registered], RegistrationChange]


class UnreadableError(SiteError):
    """A message in a registration's topic that is none."""

    def __init__(self, site: str, message: Message, problem: object) -> None:
        where = f"{message.topic()}, offset {message.offset()}, key {message.key()!r}"
        super().__init__(
            site, f"{where}: this is no registration: {problem}; send one without a value after it"
        )


class Registrar:
    """One site's registrations, as its user `registrar` sees and changes them."""

    def __init__(self, site: SiteSpec, settings: ClientSettings, schemas: Schemas) -> None:
        self._site = site
        self._schemas = schemas
        self._watch = Watch(site, settings)
        self._settings = watched(settings, self._watch)

    def read(self) -> Registered:
        """All that is registered now."""
        newest: dict[tuple[RegisteredKind, str], Message] = {}
        for message in self._messages():
            key = (message.key() or b"").decode(errors="replace")
            newest[_KINDS[message.topic() or ""], key] = message
        things: dict[RegisteredKind, dict[str, Thing]] = {kind: {} for kind in RegisteredKind}
        for (kind, object_id), message in newest.items():
            if message.value() is not None:
                things[kind][object_id] = self._decoded(kind, message)
        return Registered(things)

    def carry_out(self, decide: Decide) -> RegistrationChange:
        """Decide on what is registered, and write that down, as if nobody did anything between.

        Whoever begins shuts out who began before; who is shut out decides again.
        """
        deadline = time.monotonic() + _TIMEOUT_S
        while True:
            try:
                return self._try_to(decide)
            except KafkaException as error:
                reason: KafkaError = error.args[0]
                if reason.code() not in _OVERTAKEN:
                    raise self._watch.explain(reason, REGISTRAR) from error
                if time.monotonic() > deadline:
                    text = "others keep registering at the same time; try again later"
                    raise UnreachableError(self._site.name, text) from error
                # Else two in step would shut each other out again and again.
                time.sleep(random.uniform(0, _PAUSE_MAX_S))  # noqa: S311 - no secret

    def _try_to(self, decide: Decide) -> RegistrationChange:
        producer = Producer({**self._settings, **_WRITE})
        producer.init_transactions(_TIMEOUT_S)
        change = decide(self.read())
        if change.is_needed:
            self._write(producer, change)
        return change

    def _write(self, producer: Producer, change: RegistrationChange) -> None:
        entry = change.entry
        value = self._schemas.latest(entry.kind.topic).encode(entry.thing.model_dump())
        producer.begin_transaction()
        producer.produce(entry.kind.topic, value, entry.id.encode())
        producer.commit_transaction(_TIMEOUT_S)

    def _messages(self) -> list[Message]:
        """All of them up to the end; what a transaction has not committed is behind it."""
        # It joins no group, but librdkafka asks for one that the user may join.
        group = {"group.id": self._settings["sasl.username"]}
        consumer = Consumer({**self._settings, **_READ, **group})
        found: list[Message] = []
        open_topics = set(_KINDS)
        deadline = time.monotonic() + _TIMEOUT_S
        try:
            # A compacted topic keeps its beginning; to ask for it would take half a second.
            consumer.assign([TopicPartition(topic, 0, 0) for topic in _KINDS])
            while open_topics:
                message = consumer.poll(0.5)
                error = message.error() if message is not None else None
                if message is None:
                    if time.monotonic() > deadline:
                        raise self._watch.explain()
                elif error is None:
                    found.append(message)
                elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
                    open_topics.discard(message.topic() or "")
                else:
                    raise self._watch.explain(error, message.topic() or "")
        finally:
            consumer.close()
        return found

    def _decoded(self, kind: RegisteredKind, message: Message) -> Thing:
        value = message.value() or b""
        number = schema_id(value)
        schema = self._schemas.by_id.get(number) if number is not None else None
        if schema is None:
            raise UnreadableError(self._site.name, message, f"it has unknown schema {number}")
        try:
            return MODELS[kind].model_validate(schema.decode(value))
        except Exception as error:  # foreign bytes raise whatever they raise
            raise UnreadableError(self._site.name, message, error) from error
