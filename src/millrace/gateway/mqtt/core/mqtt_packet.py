"""What an MQTT 5 broker publishes to a subscriber, read from the packet's own bytes.

It is read here, because paho refuses text that publishers may send (a byte order mark in a user
property) and copies the rest of the packet for each property.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

_LENGTH = struct.Struct(">H")
_USER_PROPERTY, _CORRELATION, _IDENTIFIER = 0x26, 0x09, 0x0B
# Bytes that the value of a property has; those of others say their length first.
_FIXED = {0x01: 1, 0x02: 4, 0x23: 2}
_TEXTS = {0x03: 1, 0x08: 1, _CORRELATION: 1, _USER_PROPERTY: 2}
_MOST_VARINT_BYTES = 4


class Published(NamedTuple):
    """A message of the broker. `packet` is 0 where `qos` is 0."""

    topic: str
    qos: int
    packet: int
    payload: bytes
    user_properties: tuple[tuple[str, str], ...] = ()
    correlation: bytes = b""


def read_published(header: int, data: bytes) -> Published | None:
    """`header` is a packet's first byte, `data` what stands behind its length. None: this is no
    packet of MQTT 5."""
    try:
        return _read(header, data)
    except (struct.error, IndexError, KeyError):
        return None


def _read(header: int, data: bytes) -> Published | None:
    qos = header >> 1 & 3
    topic, at = _text(data, 0)
    packet = 0
    if qos:
        (packet,), at = _LENGTH.unpack_from(data, at), at + _LENGTH.size
    length, at = _varint(data, at)
    end = at + length
    pairs: list[tuple[str, str]] = []
    correlation = b""
    while at < end:
        values, kind, at = _property(data, at)
        if kind == _USER_PROPERTY:
            pairs.append((_decode(values[0]), _decode(values[1])))
        elif kind == _CORRELATION:
            correlation = values[0]
    if at != end or end > len(data) or qos > 1 or (qos and not packet):
        return None
    return Published(_decode(topic), qos, packet, data[end:], tuple(pairs), correlation)


def _property(data: bytes, at: int) -> tuple[list[bytes], int, int]:
    """Its values where they are text or bytes, its kind, and where the next one begins."""
    kind, at = data[at], at + 1
    if kind in _FIXED:
        return [], kind, at + _FIXED[kind]
    if kind == _IDENTIFIER:
        return [], kind, _varint(data, at)[1]
    values = []
    for _ in range(_TEXTS[kind]):
        value, at = _text(data, at)
        values.append(value)
    return values, kind, at


def _text(data: bytes, at: int) -> tuple[bytes, int]:
    (length,) = _LENGTH.unpack_from(data, at)
    begin, end = at + _LENGTH.size, at + _LENGTH.size + length
    if end > len(data):
        raise IndexError
    return data[begin:end], end


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(_MOST_VARINT_BYTES):
        byte = data[at + place]
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value, at + place + 1
    raise IndexError


def _decode(text: bytes) -> str:
    return text.decode(errors="replace")
