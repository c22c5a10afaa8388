"""What publishes to a site's MQTT broker: messages of which it hears that the broker has them."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from paho.mqtt.client import Client, MQTTv5
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from tests.integration.stands.edge.mqtt_broker import PASSWORD, USER, RunningMqtt
from tests.support import wait_until


class Publisher:
    """`numbered`: it tells its name and a number with each message."""

    def __init__(self, mqtt: RunningMqtt, name: str, *, numbered: bool = False) -> None:
        self._name = name
        self._numbered = numbered
        self._sent = self.answered = 0
        self._lock = threading.Lock()
        self.client = Client(CallbackAPIVersion.VERSION2, name, protocol=MQTTv5)
        self.client.username_pw_set(USER, PASSWORD)
        self.client.tls_set_context(mqtt.tls)
        self.client.on_publish = self._on_publish
        properties = Properties(PacketTypes.CONNECT)
        properties.SessionExpiryInterval = 3_600
        self.client.reconnect_delay_set(1, 1)
        self.client.connect("localhost", mqtt.port, clean_start=False, properties=properties)
        self.client.loop_start()
        wait_until(self.client.is_connected)

    def publish(
        self,
        topic: str,
        messages: Sequence[bytes],
        qos: int = 1,
        properties: Sequence[tuple[str, str]] = (),
    ) -> None:
        own = list(properties)
        for message in messages:
            self._sent += 1
            about = Properties(PacketTypes.PUBLISH)
            if self._numbered:
                own = [("millrace-origin", self._name), ("millrace-number", str(self._sent))]
            if own:
                about.UserProperty = own
            self.client.publish(topic, message, qos, properties=about)

    def finish(self, timeout_s: float = 60) -> None:
        wait_until(lambda: self.answered >= self._sent, timeout_s, "all of it at the MQTT broker")

    def close(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()

    def _on_publish(self, *_: object) -> None:
        with self._lock:
            self.answered += 1
