"""Reads a topic as it grows, without a consumer group: a look leaves no trace at the broker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    Consumer,
    KafkaException,
    Message,
    TopicPartition,
)

from millrace.kafka.core.record_time import believable
from millrace.kafka.io.client_errors import Watch, watched
from millrace.schemas.io.avro import Schemas
from millrace.schemas.io.decode import decode
from millrace.sites.core.spec import ClientSettings, SiteSpec

_TIMEOUT_S = 15.0
Row = Mapping[str, object]


def follow_topic(
    site: SiteSpec,
    settings: ClientSettings,
    topic: str,
    schemas: Schemas,
    *,
    from_start: bool,
) -> Iterator[Row]:
    """Every message, decoded, in its partition's order; waits for more without end."""
    watch = Watch(site, settings)
    consumer = Consumer({**watched(settings, watch), "group.id": "app-tail", **_NO_GROUP})
    try:
        offset = OFFSET_BEGINNING if from_start else OFFSET_END
        partitions = _partitions(consumer, topic, watch)
        consumer.assign([TopicPartition(topic, number, offset) for number in partitions])
        while True:
            message = consumer.poll(1.0)
            if message is None:
                continue
            if message.error():
                raise watch.explain(message.error(), topic)
            yield _row(message, schemas)
    finally:
        consumer.close()


_NO_GROUP = {"enable.auto.commit": False, "enable.auto.offset.store": False}


def _partitions(consumer: Consumer, topic: str, watch: Watch) -> list[int]:
    try:
        found = consumer.list_topics(topic, timeout=_TIMEOUT_S).topics[topic]
    except KafkaException as error:
        raise watch.explain(error.args[0], topic) from error
    if found.error:
        raise watch.explain(found.error, topic)
    return sorted(found.partitions)


def _row(message: Message, schemas: Schemas) -> Row:
    _, time_ms = message.timestamp()
    at = believable(time_ms)
    key = message.key()
    return {
        "time": at.isoformat(timespec="milliseconds") if at else f"{time_ms} ms",
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "key": key.decode(errors="replace") if key is not None else None,
        "value": decode(message.value(), schemas),
    }
