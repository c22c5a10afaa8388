"""Commands to devices of the site's MQTT broker, and their answers."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime

from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from millrace.gateway.commands.core.command import Command, read_response
from millrace.gateway.commands.io.commander import Commander, Noted
from millrace.gateway.mqtt.core.mqtt_packet import Published
from millrace.gateway.mqtt.io.mqtt_client import MqttClient
from millrace.gateway.spec.core.mqtt_input import MqttCommands

# A device of which the broker says that it is not there is looked for again.
_LOOK_AGAIN_S = 2.0
_NO_MATCHING_SUBSCRIBERS = 0x10


class MqttCarrier:
    def __init__(self, spec: MqttCommands, client: MqttClient, commander: Commander) -> None:
        self._spec = spec
        self._client = client
        self._commander = commander
        # By device: until when it is not looked for.
        self._absent: dict[str, float] = {}
        # By packet id, those that the broker has not answered for.
        self._on_way: dict[int, Command] = {}
        client.on_published = self._on_published
        commander.carriers.append(self)

    def reaches(self, device: str) -> bool:
        is_there = time.monotonic() > self._absent.get(device, 0.0)
        return self._client.is_connected and "/" not in device and is_there

    def carry(self, command: Command) -> bool:
        properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        properties.ResponseTopic = self._spec.response_topic_of(command.device)
        properties.CorrelationData = command.id.encode()
        properties.MessageExpiryInterval = _seconds_left(command)
        topic, payload = self._spec.topic_of(command.device), command.model_dump_json().encode()
        packet = self._client.publish(topic, payload, properties)
        if packet is None:
            return False
        self._on_way[packet] = command
        return True

    def take(self, message: Published, device: str, noted: Noted) -> None:
        answer = read_response(message.correlation, message.payload)
        if answer:
            self._commander.answer(answer, device, noted)
        else:
            noted()

    def on_connected(self) -> None:
        """Nobody answers for what went by the last connection."""
        self._on_way.clear()
        self._commander.look_around()

    def _on_published(self, packet: int, code: int) -> None:
        command = self._on_way.pop(packet, None)
        if command and code == _NO_MATCHING_SUBSCRIBERS:
            now_s = time.monotonic()
            self._absent = {one: until for one, until in self._absent.items() if until > now_s}
            self._absent[command.device] = now_s + _LOOK_AGAIN_S
            self._commander.take_back(command.id)


def _seconds_left(command: Command) -> int:
    left = (command.expires_at - datetime.now(UTC)).total_seconds()
    return max(1, math.ceil(left))
