"""An operator's side of commands: one is sent, and its outcome heard of."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from confluent_kafka import Consumer, KafkaException, TopicPartition
from pydantic import ValidationError

from millrace.gateway.commands.core.command import Command, CommandOutcome
from millrace.kafka.core.platform_topics import COMMANDS, OUTCOMES
from millrace.kafka.io.client_errors import Watch, watched
from millrace.kafka.io.sender import Sender
from millrace.sites.core.spec import ClientSettings, SiteSpec

_TIMEOUT_S = 15.0
_POLL_S = 0.2
_OWN: ClientSettings = {
    "group.id": "app-command",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "fetch.wait.max.ms": 100,
}


def send_command(site: SiteSpec, settings: ClientSettings, command: Command) -> Command:
    """As it was sent: its time begins when the site has been reached. Raises a SiteError where the
    broker does not take it."""
    sender = Sender(site, settings, COMMANDS)
    if obstacle := sender.find_obstacle():
        raise obstacle
    issued = command.issued_anew(datetime.now(UTC))
    sender.send(issued.device.encode(), issued.model_dump_json().encode())
    deadline_s = time.monotonic() + _TIMEOUT_S
    while sender.outstanding:
        if time.monotonic() > deadline_s:
            sender.abandon()
            raise sender.trouble()
        sender.poll(_POLL_S)
    return issued


class OutcomeReader:
    """Of what comes from now on: so it is made before a command is sent."""

    def __init__(self, site: SiteSpec, settings: ClientSettings) -> None:
        self._watch = Watch(site, settings)
        self._consumer = Consumer({**watched(settings, self._watch), **_OWN})
        try:
            found = self._consumer.list_topics(OUTCOMES, timeout=_TIMEOUT_S).topics[OUTCOMES]
            if found.error:
                raise self._watch.explain(found.error, OUTCOMES)
            self._consumer.assign([self._end_of(number) for number in found.partitions])
        except KafkaException as error:
            self._consumer.poll(0)  # until now nobody let the watch hear the reason
            raise self._watch.explain(error.args[0], OUTCOMES) from error

    def wait_for(self, command_id: str, until: datetime) -> CommandOutcome | None:
        while datetime.now(UTC) < until:
            message = self._consumer.poll(_POLL_S)
            if message is None:
                continue
            if message.error():
                raise self._watch.explain(message.error(), OUTCOMES)
            outcome = _read(message.value())
            if outcome and outcome.id == command_id:
                return outcome
        return None

    def close(self) -> None:
        self._consumer.close()

    def _end_of(self, number: int) -> TopicPartition:
        part = TopicPartition(OUTCOMES, number)
        _, end = self._consumer.get_watermark_offsets(part, timeout=_TIMEOUT_S)
        return TopicPartition(OUTCOMES, number, end)


def _read(value: bytes | None) -> CommandOutcome | None:
    try:
        return CommandOutcome.model_validate_json(value or b"")
    except ValidationError:
        return None
