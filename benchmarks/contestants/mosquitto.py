"""mosquitto with persistence, taking QoS 1 messages by TLS for a subscriber that is away."""

from __future__ import annotations

import shutil
import signal
import socket
import ssl
import subprocess
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from millrace.base.addresses import LOCAL_NAMES
from millrace.gateway.client.io.device import device_tls
from millrace.latency_benchmark.io.message_runners import Way
from millrace.platform.core.platform import Platform
from millrace.secrets.core.certificates import Role
from millrace.secrets.io.pki import ensure_certificate
from tests.support import free_ports, wait_until

PROGRAM = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")
HOW_TO_GET_IT = "not installed: apt-get install mosquitto"
TOPIC = b"lines"
_CONNECT, _PUBLISH, _PUBACK, _SUBSCRIBE, _DISCONNECT = 0x10, 0x32, 0x40, 0x82, 0xE0
_MOST_UNDER_WAY = 20_000
_BURST_BYTES = 64 << 10
_QUIET_S = 3.0
# Whoever writes has to be let in; the user whose certificate it is reads its own files alone.
_CONFIG = """
listener {port} 127.0.0.1
certfile {certificate}
keyfile {certificate}
cafile {ca}
require_certificate true
use_identity_as_username true
allow_anonymous false
user root
persistence true
persistence_location {folder}/
autosave_interval {save_every_s}
max_queued_messages 0
max_inflight_messages 0
log_dest file {folder}/log
"""


@dataclass
class Mosquitto:
    """It keeps everything in memory and writes all of it anew, each `save_every_s`."""

    layout: Platform
    folder: Path
    way: Way
    save_every_s: int
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        certificate = ensure_certificate(
            self.layout,
            self.layout.certificate("mqtt", "broker"),
            "mqtt",
            Role.SERVER,
            LOCAL_NAMES,
        )
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / "mosquitto.conf"
        file.write_text(
            _CONFIG.format(
                port=self.way.port,
                certificate=certificate,
                ca=self.layout.ca,
                folder=self.folder,
                save_every_s=self.save_every_s,
            )
        )
        self.process = subprocess.Popen(
            [str(PROGRAM), "-c", str(file)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_until(self._listens, 30)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        if self.process:
            self.process.send_signal(number)
            self.process.wait(60)
            self.process = None

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.way.port)) == 0

    def subscribe(self) -> None:
        """As one who will be back: messages are kept for it from now on."""
        connected = _connect(self.way, b"subscriber", is_clean=False)
        body = b"\x00\x01" + _text(TOPIC) + b"\x01"
        connected.sendall(bytes([_SUBSCRIBE, len(body)]) + body)
        connected.recv(16)
        connected.sendall(bytes([_DISCONNECT, 0]))
        connected.close()

    def count_kept(self) -> int:
        """How many it has for the subscriber."""
        connected = _connect(self.way, b"subscriber", is_clean=False)
        connected.settimeout(_QUIET_S)
        count, heard = 0, b""
        with suppress(TimeoutError):
            while data := connected.recv(_BURST_BYTES):
                packets, heard = _packets(heard + data)
                # Of a message of QoS 1: behind its topic.
                numbers = [body[2 + len(TOPIC) :][:2] for kind, body in packets if kind >> 4 == 3]
                count += len(numbers)
                connected.sendall(b"".join(bytes([_PUBACK, 2]) + one for one in numbers))
        connected.close()
        return count


class Publisher:
    """As a device: `delivered` grows with each message that is acknowledged."""

    def __init__(self, way: Way, name: str) -> None:
        self._socket = _connect(way, name.encode(), is_clean=True)
        self._unsent: deque[bytes] = deque()
        self._sent = self.delivered = 0
        self._heard = b""

    @property
    def room(self) -> int:
        return _MOST_UNDER_WAY - (self._sent - self.delivered) - len(self._unsent)

    def send(self, message: bytes) -> None:
        number = (self._sent + len(self._unsent)) % 65_535 + 1
        body = _text(TOPIC) + number.to_bytes(2, "big") + message
        self._unsent.append(bytes([_PUBLISH]) + _length(len(body)) + body)

    def poll(self, timeout_s: float) -> None:
        self._sent += len(self._unsent)
        self._socket.sendall(b"".join(self._unsent))
        self._unsent.clear()
        self._socket.settimeout(timeout_s)
        with suppress(TimeoutError, ssl.SSLWantReadError):
            # An acknowledgement has four bytes.
            self._heard += self._socket.recv(_BURST_BYTES)
            self.delivered += len(self._heard) // 4
            self._heard = self._heard[len(self._heard) // 4 * 4 :]
        self._socket.settimeout(30)

    def close(self) -> None:
        self._socket.close()


@contextmanager
def running(layout: Platform, folder: Path, save_every_s: int) -> Iterator[Mosquitto]:
    device = ensure_certificate(layout, layout.certificate("mqtt", "device"), "device", Role.CLIENT)
    way = Way("localhost", free_ports(1), str(layout.ca), str(device))
    one = Mosquitto(layout, folder, way, save_every_s)
    one.start()
    try:
        yield one
    finally:
        one.stop()


def _connect(way: Way, name: bytes, *, is_clean: bool) -> ssl.SSLSocket:
    raw = socket.create_connection((way.host, way.port), 30)
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connected = device_tls(way.ca, way.certificate).wrap_socket(raw, server_hostname=way.host)
    body = _text(b"MQTT") + bytes([4, 2 * is_clean, 0, 0]) + _text(name)
    connected.sendall(bytes([_CONNECT, len(body)]) + body)
    answer = connected.recv(4)
    if answer[3:] != b"\x00":
        raise ConnectionRefusedError(f"mosquitto answers {answer!r}")
    return connected


def _text(data: bytes) -> bytes:
    return len(data).to_bytes(2, "big") + data


def _length(size: int) -> bytes:
    """Seven bits a byte, the lowest first."""
    found = bytearray()
    while True:
        size, low = divmod(size, 128)
        found.append(low | (128 if size else 0))
        if not size:
            return bytes(found)


def _packets(data: bytes) -> tuple[list[tuple[int, bytes]], bytes]:
    """Whole ones, and what is left."""
    found, at = [], 0
    while True:
        size, shift, begin = 0, 0, at + 1
        while begin < len(data):
            size |= (data[begin] & 127) << shift
            shift, begin = shift + 7, begin + 1
            if data[begin - 1] < 128:
                break
        else:
            return found, data[at:]
        if begin + size > len(data):
            return found, data[at:]
        found.append((data[at], data[begin : begin + size]))
        at = begin + size
