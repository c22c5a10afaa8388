"""Clients that do what no device should, on the port of those who do what they should."""

from __future__ import annotations

import os
import random
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from typing import NamedTuple

from benchmarks.faults.stands.fault import fault
from benchmarks.faults.stands.stand import Stand
from millrace.gateway.client.io.device import device_tls

_LASTS_S = 12.0
_RECONNECTS, _RECONNECTORS = 10_000, 2


class Way(NamedTuple):
    """A context of TLS cannot be handed to another process."""

    port: int
    ca: str
    certificate: str

    def raw(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), 20)

    def sealed(self) -> socket.socket:
        tls = device_tls(self.ca, self.certificate)
        return tls.wrap_socket(self.raw(), server_hostname="127.0.0.1")


Attack = Callable[[Way], None]


def _attack(stand: Stand, attack: Attack, processes: int = 1) -> None:
    """In processes of its own: who counts is not slowed down by who attacks."""
    way = Way(stand.gateway.port, str(stand.site.layout.ca), str(stand.gateway.device))
    context = get_context("spawn")
    running = [context.Process(target=attack, args=(way,)) for _ in range(processes)]
    for one in running:
        one.start()
    for one in running:
        one.join(300)
        if one.exitcode != 0:
            raise AssertionError(f"{attack.__name__} ended with {one.exitcode}")


def _send_for_a_while(way: Way, make: Callable[[], bytes]) -> None:
    """A new connection whenever the gateway has had enough of the last."""
    ends_s = time.monotonic() + _LASTS_S
    while time.monotonic() < ends_s:
        with suppress(OSError), way.sealed() as connected:
            connected.settimeout(1)
            while time.monotonic() < ends_s:
                connected.sendall(make())
                time.sleep(0.02)


def send_garbage(way: Way) -> None:
    chance = random.Random(1)  # noqa: S311 - the same garbage each time
    _send_for_a_while(way, lambda: chance.randbytes(5_000))


def send_long_lines(way: Way) -> None:
    _send_for_a_while(way, lambda: b"x" * 10_000_000 + b"\n")


def send_no_tls(way: Way) -> None:
    ends_s = time.monotonic() + _LASTS_S
    while time.monotonic() < ends_s:
        with suppress(OSError), way.raw() as connected:
            connected.sendall(os.urandom(2_000))
            connected.recv(100)


def send_half_lines(way: Way) -> None:
    ends_s = time.monotonic() + _LASTS_S
    while time.monotonic() < ends_s:
        with suppress(OSError), way.sealed() as connected:
            connected.sendall(b'{"id":"d0k0","n":0,"t":')


def be_slow(way: Way) -> None:
    """A byte a second each, half of them in the middle of the handshake."""
    connected = [way.sealed() if n % 2 else way.raw() for n in range(400)]
    for _ in range(int(_LASTS_S)):
        for number, one in enumerate(connected):
            with suppress(OSError):
                one.send(b"x" if number % 2 else b"\x16")
        time.sleep(1)


def send_deep_json(way: Way) -> None:
    """Where the key is read, where a rule looks, and beside both."""
    lists = "[" * 2_000 + "]" * 2_000
    objects = '{"a":' * 2_000 + "1" + "}" * 2_000
    lines = [
        f'{{"id":{lists}}}', f'{{"s":{lists},"id":"x"}}', f'{{"x":{objects}}}',
        f'{{"id":{"9" * 5_000}}}',
    ]  # fmt: skip
    _send_for_a_while(way, lambda: ("\n".join(lines) + "\n").encode())


def say_anothers_name(way: Way) -> None:
    """As a device that was copied with its name: it tries again whenever it is sent away."""
    ends_s = time.monotonic() + _LASTS_S
    answered = 0
    while time.monotonic() < ends_s:
        with suppress(OSError), way.sealed() as connected:
            connected.settimeout(10)
            connected.sendall(b"HELLO device-1\n")
            if connected.recv(100).startswith(b"OK"):
                connected.sendall(b'{"id":"x"}\n' * 1_000)
                answered += connected.recv(10_000).count(b"\n")
    if answered:
        raise AssertionError(f"{answered} messages of the copy were answered as device-1's")


def reconnect(way: Way) -> None:
    tls = device_tls(way.ca, way.certificate)
    for _ in range(_RECONNECTS // _RECONNECTORS):
        tls.wrap_socket(way.raw(), server_hostname="127.0.0.1").close()


@fault("garbage", "random bytes by TLS on the devices' port, for 12 s, beside them")
def garbage(stand: Stand) -> None:
    _attack(stand, send_garbage)


@fault("no-tls", "random bytes without TLS, a new connection each time, for 12 s")
def no_tls(stand: Stand) -> None:
    _attack(stand, send_no_tls)


@fault("long-lines", "lines of 10 MB, one after the other, for 12 s")
def long_lines(stand: Stand) -> None:
    _attack(stand, send_long_lines)


@fault("half-lines", "connections that end in the middle of a message, for 12 s")
def half_lines(stand: Stand) -> None:
    _attack(stand, send_half_lines)


@fault("slow-loris", "400 connections that send a byte a second, half of them of their handshake;"
       " their messages have to end within 5 s", settings={"patience": "5 seconds"})  # fmt: skip
def slow_loris(stand: Stand) -> None:
    _attack(stand, be_slow)


@fault("nested-json", "JSON nested 2,000 deep and numbers of 5,000 digits, where the key is read"
       " and where a rule looks, 50 times a second for 12 s",
       settings={"rules": [{"name": "r", "sensor": "$.id", "value": "$.s", "above": 1,
                            "topic": "nested-json"}]})  # fmt: skip
def nested_json(stand: Stand) -> None:
    _attack(stand, send_deep_json)


@fault("name-twice", "a second device that says the name of the first, again and again, and would"
       " send other messages, for 12 s")  # fmt: skip
def name_twice(stand: Stand) -> None:
    _attack(stand, say_anothers_name)


@fault("reconnects", f"{_RECONNECTS:,} connections with a full handshake each, as quick as two"
       " processes can")  # fmt: skip
def reconnects(stand: Stand) -> None:
    _attack(stand, reconnect, _RECONNECTORS)
