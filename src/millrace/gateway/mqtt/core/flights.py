"""What an MQTT input decides: who numbers a message, which messages are under way."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum, auto
from hashlib import blake2b
from typing import NamedTuple

from millrace.base.whole_numbers import whole_number

# User properties by which a publisher numbers its messages, as a device does after HELLO.
ORIGIN, NUMBER = "millrace-origin", "millrace-number"
_NAME = re.compile(r"[A-Za-z0-9._:/-]{1,200}")


def origin_in(properties: Iterable[tuple[str, str]]) -> str:
    """What a publisher calls itself."""
    return dict(properties).get(ORIGIN, "")


def numbered(topic: str, properties: Iterable[tuple[str, str]]) -> tuple[bytes, int]:
    """The origin and the number of a message; empty and 0 where its publisher does not count.

    An origin is a publisher on one topic: MQTT keeps the order of one topic alone, and who may
    publish to one must not be able to spoil the numbers of another.
    """
    found = dict(properties)
    name, number = found.get(ORIGIN, ""), found.get(NUMBER, "")
    count = whole_number(number)
    if not count or not _NAME.fullmatch(name):
        return b"", 0
    digest = blake2b(f"{name}\0{topic}".encode(), digest_size=16)
    return b"mqtt/" + digest.hexdigest().encode(), count


class Flight(NamedTuple):
    """A message on its way to the disk: a session at the MQTT broker, and a packet id in it."""

    session: int
    packet: int


class Arrival(Enum):
    """What to do with a message that came."""

    TAKE = auto()
    # It came before, and is on its way: it is acknowledged when it is safe.
    WAIT = auto()
    # It is safe, and could not be acknowledged until now.
    ACKNOWLEDGE = auto()


class Flights:
    """Those of one session that are not acknowledged; through cuts of its connection.

    A packet id is given to another message only after its acknowledgement. So whatever comes again
    under one that was never acknowledged is the same message.
    """

    def __init__(self) -> None:
        self._session = 0
        # By packet id: whether it is safe by now.
        self._under_way: dict[int, bool] = {}

    def __len__(self) -> int:
        return len(self._under_way)

    def on_connected(self, *, is_resumed: bool) -> None:
        if not is_resumed:
            self._session += 1
            self._under_way.clear()

    def on_message(self, packet: int) -> tuple[Flight, Arrival]:
        flight = Flight(self._session, packet)
        is_safe = self._under_way.get(packet)
        if is_safe is None:
            self._under_way[packet] = False
            return flight, Arrival.TAKE
        return flight, Arrival.ACKNOWLEDGE if is_safe else Arrival.WAIT

    def on_safe(self, flight: Flight, *, is_connected: bool) -> bool:
        """Whether it is to be acknowledged now."""
        if flight.session != self._session or flight.packet not in self._under_way:
            return False
        self._under_way[flight.packet] = True
        if is_connected:
            self.on_acknowledged(flight)
        return is_connected

    def on_acknowledged(self, flight: Flight) -> None:
        if flight.session == self._session:
            self._under_way.pop(flight.packet, None)
