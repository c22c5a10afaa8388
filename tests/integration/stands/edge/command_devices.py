"""Devices that obey: by TCP and by MQTT. They write down each command that they were told."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from paho.mqtt.client import Client, MQTTMessage, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from tests.integration.conftest import RunningSite
from tests.integration.stands.edge.gateways import RunningGateway
from tests.integration.stands.edge.mqtt_broker import PASSWORD, USER, RunningMqtt
from tests.support import wait_until


def command(device: str, life_s: float = 60, **values: Any) -> dict[str, Any]:
    now = datetime.now(UTC)
    own = {"id": uuid.uuid4().hex, "device": device, "name": "open", "arguments": {"valve": 3}}
    life = {"issued_at": now.isoformat(), "expires_at": (now + timedelta(seconds=life_s))}
    return {**own, **life, "expires_at": life["expires_at"].isoformat(), **values}  # type: ignore[attr-defined]


def send(site: RunningSite, *commands: dict[str, Any]) -> None:
    records = [(one["device"].encode(), json.dumps(one).encode()) for one in commands]
    site.produce("app", "commands", records)


def outcomes(site: RunningSite, *ids: str) -> list[dict[str, Any]]:
    """Of these commands, in the topic's order."""
    found = [json.loads(value or b"") for _, value in site.consume("app", "command-outcomes")]
    return [one for one in found if one["id"] in ids]


def outcome_of(site: RunningSite, sent: dict[str, Any], timeout_s: float = 30) -> dict[str, Any]:
    (found,) = wait_until(lambda: outcomes(site, sent["id"]), timeout_s, "an outcome", 0.2)
    return found


def ready(gateway: RunningGateway) -> None:
    """It has noted from where on commands are for it."""
    memory = gateway.folder / "data" / "commands" / "memory.json"
    wait_until(lambda: memory.exists() and '"positions":{' in memory.read_text())


class TcpDevice(threading.Thread):
    """It connects again and again, and says each outcome until it is noted."""

    def __init__(
        self, gateway: RunningGateway, name: str, obey: Callable[[str], str | None]
    ) -> None:
        """`obey`: what it says of a command; None: nothing."""
        super().__init__(daemon=True)
        self._gateway = gateway
        self._name = name
        self._obey = obey
        self._to_say: dict[str, str] = {}
        self.told: list[str] = []
        self.noted: list[str] = []
        self.messages_safe = 0
        # Called when it has said an outcome, and when it has heard that this is noted.
        self.on_said: Callable[[], None] = lambda: None
        self.on_noted: Callable[[], None] = lambda: None
        self.stopped = threading.Event()

    def run(self) -> None:
        while not self.stopped.is_set():
            try:
                self._live()
            except OSError:
                self.stopped.wait(0.05)

    def _live(self) -> None:
        device = self._gateway.device_at(name=self._name)
        device.socket.settimeout(0.1)
        try:
            device.socket.sendall(f"HELLO {self._name}\n".encode())
            for command_id, said in self._to_say.items():
                device.send([f"OUTCOME {command_id} {said}".encode()])
            begun = b""
            while not self.stopped.is_set():
                try:
                    more = device.socket.recv(1 << 16)
                except TimeoutError:
                    continue
                if not more:
                    return
                *lines, begun = (begun + more).split(b"\n")
                for line in lines:
                    self._hear(device, line)
        finally:
            device.close()

    def _hear(self, device: Any, line: bytes) -> None:
        word, _, rest = line.partition(b" ")
        if word == b"COMMAND":
            command_id = json.loads(rest)["id"]
            self.told.append(command_id)
            if said := self._obey(command_id):
                self._to_say[command_id] = said
                device.send([b'{"id":"d","n":1}', f"OUTCOME {command_id} {said}".encode()])
                self.on_said()
        elif word == b"NOTED":
            self._to_say.pop(rest.decode(), None)
            self.on_noted()
            self.noted.append(rest.decode())
        elif word.isdigit():
            self.messages_safe = int(word)

    def stop(self) -> None:
        self.stopped.set()
        self.join(10)


class MqttDevice:
    """It answers by the topic and the correlation data that a command tells."""

    def __init__(self, mqtt: RunningMqtt, name: str, said: str) -> None:
        self._said = said
        self.told: list[MQTTMessage] = []
        self._topic = f"commands/{name}"
        self.client = Client(CallbackAPIVersion.VERSION2, name, protocol=MQTTv5)
        self.client.username_pw_set(USER, PASSWORD)
        self.client.tls_set_context(mqtt.tls)
        self.client.on_message = self._on_message
        ready = threading.Event()
        self.client.on_subscribe = lambda *_: ready.set()
        # Each time: a broker that was killed may have forgotten what its sessions want.
        self.client.on_connect = lambda client, *_: client.subscribe(self._topic, qos=1)
        self.client.reconnect_delay_set(1, 1)
        lasting = Properties(PacketTypes.CONNECT)
        lasting.SessionExpiryInterval = 600
        self.client.connect("localhost", mqtt.port, clean_start=False, properties=lasting)
        self.client.loop_start()
        assert ready.wait(10)

    def _on_message(self, client: Client, _data: Any, message: MQTTMessage) -> None:
        self.told.append(message)
        properties = Properties(PacketTypes.PUBLISH)
        properties.CorrelationData = message.properties.CorrelationData
        topic = message.properties.ResponseTopic
        client.publish(topic, self._said.encode(), 1, properties=properties)

    def close(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()
