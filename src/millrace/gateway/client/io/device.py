"""A device's side of a gateway's TCP input: all messages, in order, each once, through any cut."""

from __future__ import annotations

import re
import select
import socket
import ssl
from dataclasses import dataclass

from millrace.gateway.client.core.unanswered import Backlog

_OK = re.compile(rb"OK (\d+)")
_TOO_LONG = b"REFUSED longer"
_TIMEOUT_S = 30.0
# What is sent has to be seen by the other end's machine within this; else the way leads nowhere.
_UNSEEN_MS = 10_000
_BURST_BYTES = 64 << 10
_MOST_WAITING = 50_000


@dataclass(frozen=True)
class Address:
    """A gateway's input, as a device has to know it. `tls` None: plain text."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    is_length_prefixed: bool = False


class Device:
    """Keeps each message until the gateway has it on disk."""

    def __init__(self, address: Address, name: str) -> None:
        self._address = address
        self._name = name
        self._backlog = Backlog()
        self._socket: socket.socket | None = None
        self._heard = b""
        self.cuts = 0
        self.trouble = ""

    @property
    def delivered(self) -> int:
        return self._backlog.delivered

    @property
    def refused(self) -> int:
        return self._backlog.refused

    @property
    def outstanding(self) -> int:
        return self._backlog.outstanding

    @property
    def room(self) -> int:
        return _MOST_WAITING - self.outstanding

    def send(self, message: bytes) -> None:
        self._backlog.put(self._framed(message))

    def poll(self, timeout_s: float) -> None:
        """Send what waits, hear what is answered; wait for that no longer than the timeout."""
        try:
            connected = self._socket or self._connect()
            self._write(connected)
            self._read(connected, timeout_s)
            self.trouble = ""
        except OSError as error:
            self._cut(error)
            select.select([], [], [], min(timeout_s, 0.2))

    def close(self) -> None:
        if self._socket:
            self._socket.close()
            self._socket = None

    def _framed(self, message: bytes) -> bytes:
        if self._address.is_length_prefixed:
            return len(message).to_bytes(4, "big") + message
        return message + b"\n"

    def _connect(self) -> socket.socket:
        """What the gateway has by now is not sent again."""
        made = socket.create_connection((self._address.host, self._address.port), _TIMEOUT_S)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNSEEN_MS)
        if self._address.tls:
            made = self._address.tls.wrap_socket(made, server_hostname=self._address.host)
        made.sendall(self._framed(b"HELLO " + self._name.encode()))
        self._heard = b""
        while b"\n" not in self._heard:
            self._heard += _received(made)
        word, _, self._heard = self._heard.partition(b"\n")
        found = _OK.fullmatch(word)
        if found is None:
            raise ConnectionRefusedError(f"the gateway answers {word!r} to HELLO")
        self._backlog.begin_behind(int(found[1]))
        self._socket = made
        return made

    def _write(self, connected: socket.socket) -> None:
        while burst := self._backlog.burst(_BURST_BYTES):
            connected.sendall(b"".join(burst))

    def _read(self, connected: socket.socket, timeout_s: float) -> None:
        is_waiting = isinstance(connected, ssl.SSLSocket) and connected.pending()
        if not is_waiting and not select.select([connected], [], [], timeout_s)[0]:
            return
        *answers, self._heard = (self._heard + _received(connected)).split(b"\n")
        for answer in answers:
            if answer.startswith(_TOO_LONG):
                self._backlog.on_refused()
            elif answer.startswith(b"REFUSED"):
                raise ConnectionRefusedError(answer.decode())
            else:
                self._backlog.on_safe()

    def _cut(self, error: OSError) -> None:
        self.close()
        self.cuts += 1
        self.trouble = f"gateway {self._address.host}:{self._address.port}: {error}"


def _received(connected: socket.socket) -> bytes:
    data = connected.recv(_BURST_BYTES)
    if not data:
        raise ConnectionResetError("it has hung up")
    return data


def device_tls(ca: str, certificate: str) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=ca)
    context.load_cert_chain(certificate)
    return context
