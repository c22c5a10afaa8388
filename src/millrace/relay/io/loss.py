"""Lets a partition go on behind what is lost, after a person agreed to it."""

from __future__ import annotations

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from millrace.kafka.core.coordinates import Part
from millrace.kafka.io.client_errors import UnknownTopicError, Watch, watched
from millrace.relay.core.positions import Position
from millrace.relay.core.relay_rights import GROUP
from millrace.relay.core.spec import RelaySpec
from millrace.relay.io.cluster_login import Door
from millrace.relay.io.ids import ask_ids
from millrace.relay.io.target import Target

_ASK_S = 15.0
_TRIES = 12


def accept_loss(
    relay: RelaySpec, source: Door, target: Door, part: Part, offset: int | None
) -> int:
    """Where it goes on: at `offset`, or at what the site still has. Ends the relay that runs."""
    topic_id = _id_of(source, part.topic)
    target_id = _id_of(target, relay.target(part.site, part.topic))
    begin = _first_there(source, part) if offset is None else offset
    tries = iter(range(_TRIES))

    def wait(error: KafkaError) -> None:
        if next(tries, None) is None:
            raise writer.watch.explain(error)

    writer = Target(relay, target.cluster, target.settings, wait)
    writer.open()
    writer.begin()
    writer.note({part: Position(topic_id, begin, target_id)})
    writer.commit()
    return begin


def _id_of(door: Door, topic: str) -> str:
    watch = Watch(door.cluster, door.settings)
    admin = AdminClient(watched(door.settings, watch))
    try:
        found = ask_ids(admin, [topic])
    except KafkaException as error:
        admin.poll(0)  # until now nobody let the watch hear the reason
        raise watch.explain(error.args[0], topic) from error
    if topic not in found:
        raise UnknownTopicError(door.cluster.name, f"there is no topic {topic!r}")
    return found[topic]


def _first_there(source: Door, part: Part) -> int:
    watch = Watch(source.cluster, source.settings)
    consumer = Consumer(watched({**source.settings, "group.id": GROUP}, watch))
    try:
        place = TopicPartition(part.topic, part.partition)
        low, _ = consumer.get_watermark_offsets(place, timeout=_ASK_S)
    except KafkaException as error:
        raise watch.explain(error.args[0], part.topic) from error
    else:
        return int(low)
    finally:
        consumer.close()
