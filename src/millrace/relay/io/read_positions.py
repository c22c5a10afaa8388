"""Reads how far each partition was brought, after the last who wrote it is fenced."""

from __future__ import annotations

import time

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from millrace.kafka.core.coordinates import Part
from millrace.kafka.io.client_errors import Watch, watched
from millrace.relay.core.positions import Position, decode
from millrace.relay.core.relay_rights import GROUP
from millrace.sites.core.spec import ClientSettings, SiteSpec

_READ: ClientSettings = {
    "group.id": GROUP,
    "isolation.level": "read_committed",
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "enable.partition.eof": True,
}
_WITHIN_S = 60.0


def read_positions(target: SiteSpec, settings: ClientSettings, topic: str) -> dict[Part, Position]:
    """The topic has one writer, and that one has no transaction open now: its end is the end."""
    watch = Watch(target, settings)
    consumer = Consumer(watched({**settings, **_READ}, watch))
    found: dict[Part, Position] = {}
    deadline = time.monotonic() + _WITHIN_S
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        while time.monotonic() < deadline:
            for message in consumer.consume(10_000, 0.2):
                error = message.error()
                if error is None:
                    part, position = decode(message.key() or b"", message.value() or b"")
                    found[part] = position
                elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - its name
                    return found
                else:
                    raise watch.explain(error, topic)
        raise watch.explain(None, topic)
    except KafkaException as error:
        raise watch.explain(error.args[0], topic) from error
    finally:
        consumer.close()
