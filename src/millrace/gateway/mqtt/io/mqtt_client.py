"""A client of an MQTT 5 broker in the gateway's event loop: it connects, and connects again.

paho's own loop waits with `select`, which knows no more than 1,024 open files; a gateway has more.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import struct
from collections.abc import Callable, Sequence
from typing import Any

from paho.mqtt.client import (
    Client,
    ConnectFlags,
    DisconnectFlags,
    MQTTv5,
)
from paho.mqtt.enums import CallbackAPIVersion, MessageType, MQTTErrorCode
from paho.mqtt.exception import MQTTException
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from millrace.base.errors import MillraceError
from millrace.gateway.mqtt.core.mqtt_packet import Published, read_published
from millrace.gateway.mqtt.io.mqtt_access import MqttAccess
from millrace.gateway.spec.core.mqtt_input import MqttInput

log = logging.getLogger(__name__)
_KEEP_ALIVE_S = 30
_CONNECT_S = 5.0
_PAUSES_S = (0.2, 0.5, 1.0, 2.0, 5.0)
# Not every broker says why it refuses a connection.
_WHO = "wrong user or password, or a certificate that it does not know"
_HINTS = {0x85: "it does not take the name that session gives", 0x86: _WHO, 0x87: _WHO}
# How long the broker keeps a session that nobody resumes.
_SESSION_S = 30 * 86_400
# What paho raises for bytes that it cannot read.
_NO_MQTT = (MQTTException, ValueError, IndexError, KeyError, TypeError, struct.error)
_PUBACK = struct.Struct(">BBHB")
QUOTA_EXCEEDED, NOT_TAKEN = 0x97, 0x83

OnConnected = Callable[[bool], None]
OnMessage = Callable[[Published], None]


class _Subscriber(Client):
    """paho's client, but for the reading of what the broker publishes."""

    on_published_message: OnMessage

    def _handle_publish(self) -> MQTTErrorCode:
        packet = self._in_packet
        message = read_published(packet["command"], bytes(packet["packet"]))
        if message is None:
            return MQTTErrorCode.MQTT_ERR_PROTOCOL
        self.on_published_message(message)
        return MQTTErrorCode.MQTT_ERR_SUCCESS


class MqttClient:
    """Used by the event loop alone, but for the making of a connection."""

    def __init__(self, spec: MqttInput, on_connected: OnConnected, on_message: OnMessage) -> None:
        """`on_connected` is told whether the broker has kept the session."""
        self._spec = spec
        self._access = MqttAccess(spec)
        self._on_connected = on_connected
        self.on_published: Callable[[int, int], None] = lambda _packet, _code: None
        self._filters = [*spec.subscribe]
        if spec.commands:
            self._filters.append(spec.commands.outcome_filter)
        self._client = self._make(on_message)
        self._fd = -1
        self._closed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._failures = 0
        self._is_answered = self.is_connected = False
        # Why nothing comes; empty: it may.
        self.obstacle = "not connected yet"

    def start(self) -> None:
        self._task = asyncio.create_task(self._stay_connected())

    def acknowledge(self, packet: int) -> None:
        self._client.ack(packet, 1)

    def refuse(self, packet: int, reason: int) -> None:
        """The broker has done with the message all the same."""
        data = _PUBACK.pack(MessageType.PUBACK, 3, packet, reason)
        # Its `ack` knows no reasons.
        self._client._packet_queue(MessageType.PUBACK, data, packet, 1)  # noqa: SLF001

    def publish(self, topic: str, payload: bytes, properties: Properties) -> int | None:
        """The packet's id; `on_published` is told it, with the broker's answer. None: it did not
        leave."""
        if not self.is_connected:
            return None
        return self._client.publish(topic, payload, 1, properties=properties).mid

    def look_after(self) -> None:
        """Raises where something broke that no new connection can mend."""
        if self._task and self._task.done():
            self._task.result()
        self._client.loop_misc()

    def stop_reading(self) -> None:
        """What was read is still acknowledged."""
        if self._task:
            self._task.cancel()
        if self._fd >= 0:
            asyncio.get_running_loop().remove_reader(self._fd)

    def end(self) -> None:
        """The broker keeps the session."""
        self._client.disconnect()
        self._client.loop_write()

    def _make(self, on_message: OnMessage) -> Client:
        version = CallbackAPIVersion.VERSION2
        client = _Subscriber(version, self._spec.session, protocol=MQTTv5, manual_ack=True)
        client.on_published_message = on_message
        client.connect_timeout = _CONNECT_S
        if self._access.context:
            client.tls_set_context(self._access.context)
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_subscribe = self._on_subscribe
        client.on_publish = lambda _client, _data, packet, code, _properties: self.on_published(
            packet, code.value
        )
        client.on_socket_close = self._on_socket_close
        client.on_socket_register_write = self._on_writing
        client.on_socket_unregister_write = self._on_written
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.SessionExpiryInterval = _SESSION_S
        properties.ReceiveMaximum = self._spec.receive_maximum
        host, port = self._spec.host_port
        client.connect_async(
            host, port, _KEEP_ALIVE_S, clean_start=False, properties=properties
        )  # fmt: skip
        return client

    # Connections.

    async def _stay_connected(self) -> None:
        while True:
            self._closed.clear()
            try:
                await asyncio.to_thread(self._connect)
            except (OSError, ValueError, MillraceError) as error:
                self._say_obstacle(_reason(error))
            else:
                self._attach()
                await self._closed.wait()
            await asyncio.sleep(_PAUSES_S[min(self._failures, len(_PAUSES_S) - 1)])
            self._failures += 1

    def _connect(self) -> None:
        self._is_answered = False
        self._access.renew()
        self._client.username_pw_set(self._access.user, self._access.password)
        # It would send again what the broker has not answered for, also what has expired since.
        self._client._out_messages.clear()  # noqa: SLF001
        self._client.reconnect()

    def _attach(self) -> None:
        self._fd = _fd_of(self._client.socket())
        asyncio.get_running_loop().add_reader(self._fd, self._read)
        self._client.loop_write()

    def _read(self) -> None:
        """All that TLS has deciphered: the socket tells of none of it."""
        try:
            while self._client.loop_read() == MQTTErrorCode.MQTT_ERR_SUCCESS:
                open_socket = self._client.socket()
                if not isinstance(open_socket, ssl.SSLSocket) or not open_socket.pending():
                    return
        except _NO_MQTT as error:
            log.warning("%s: no packet of MQTT: %r", self._spec.name, error)
            # Its `loop_read` ends a connection for an error that it returns, not for one it raises.
            self._client._loop_rc_handle(MQTTErrorCode.MQTT_ERR_PROTOCOL)  # noqa: SLF001

    def _say_obstacle(self, reason: str) -> None:
        obstacle = f"MQTT broker {self._spec.broker}: {reason}"
        if obstacle != self.obstacle:
            log.warning("%s: %s", self._spec.name, obstacle)
        self.obstacle = obstacle

    # What paho calls.

    def _on_connect(
        self, _c: Client, _d: Any, flags: ConnectFlags, code: ReasonCode, about: Properties | None
    ) -> None:
        self._is_answered = True
        if code.is_failure:
            said = getattr(about, "ReasonString", "") or _HINTS.get(code.value, "")
            self._say_obstacle(f"{code}: {said}" if said else str(code))
            return
        self._failures = 0
        self.is_connected = True
        log.info("%s: connected to %s", self._spec.name, self._spec.broker)
        self._on_connected(flags.session_present)
        # Also to a session that was kept: the file may name another filter by now. What is
        # retained is sent once, not with each connection.
        options = SubscribeOptions(qos=1, noLocal=True, retainHandling=1)
        self._client.subscribe([(one, options) for one in self._filters])

    def _on_subscribe(
        self, _c: Client, _d: Any, _mid: int, codes: Sequence[ReasonCode], _p: Properties | None
    ) -> None:
        self.obstacle = ""
        for topic, code in zip(self._filters, codes, strict=True):
            if code.is_failure:
                self._say_obstacle(f"subscribe: {topic!r}: {code}")
            elif code.value == 0:
                self._say_obstacle(f"subscribe: {topic!r}: it gives QoS 0 only, which loses")

    def _on_disconnect(
        self, _c: Client, _d: Any, _f: DisconnectFlags, code: ReasonCode, _p: Properties | None
    ) -> None:
        if self.is_connected:
            self._say_obstacle(f"the connection has ended: {code}")
        elif not self._is_answered:
            self._say_obstacle("it hangs up before it answers; does it want TLS, or a certificate?")
        self.is_connected = False

    def _on_socket_close(self, _c: Client, _d: Any, closing: Any) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(_fd_of(closing))
        loop.remove_writer(_fd_of(closing))
        self._fd = -1
        self._closed.set()

    def _on_writing(self, _c: Client, _d: Any, writing: Any) -> None:
        """Not while a connection is being made, which is in another thread."""
        if self._fd >= 0:
            asyncio.get_running_loop().add_writer(_fd_of(writing), self._client.loop_write)

    def _on_written(self, _c: Client, _d: Any, written: Any) -> None:
        if self._fd >= 0:
            asyncio.get_running_loop().remove_writer(_fd_of(written))


def _fd_of(open_socket: Any) -> int:
    return open_socket.fileno() if isinstance(open_socket, socket.socket) else -1


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not to be trusted: {error.verify_message}"
    return getattr(error, "strerror", None) or str(error)
