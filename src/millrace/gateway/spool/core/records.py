"""A message as it lies in a spool: bytes that prove themselves, whatever stands around them."""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

_MAGIC = b"MRr1"
_HEAD = struct.Struct("<4sII")  # magic, length of the body, its CRC-32
_BODY = struct.Struct("<QIQQQIQBBH")
_HEAD_BYTES, _BODY_BYTES = _HEAD.size, _BODY.size
_NO_KEY = 0xFFFF
OVERHEAD_BYTES = _HEAD_BYTES + _BODY_BYTES
MAX_KEY_BYTES, MAX_NAME_BYTES = _NO_KEY - 1, 0xFF


class Draft(NamedTuple):
    """A message that is to be kept. No topic: it has none that it may go to."""

    topic: bytes
    key: bytes | None
    value: bytes
    # Who numbers its own messages, so that one which is sent again is known; empty: nobody.
    origin: bytes = b""
    origin_number: int = 0


class Record(NamedTuple):
    """A message that is kept."""

    serial: int  # counts every message of a spool
    place: int  # how many of its group were written before it
    number: int  # counts every message of a spool to its topic: its identity from here on
    time_ms: int  # by the machine's clock, whatever it was set to
    draft: Draft
    epoch: int = 0  # the spool's life in which it was kept: numbers are of a life
    clock_s: int = 0  # by the spool's own clock, which nobody sets

    @property
    def group(self) -> int:
        """The serial number of the first message of those that were synced together."""
        return self.serial - self.place


def encode(record: Record) -> bytes:
    serial, place, number, time_ms, draft, epoch, clock_s = record
    topic, key, value, origin, origin_number = draft
    key_bytes = _NO_KEY if key is None else len(key)
    fixed = _BODY.pack(
        serial, place, number, time_ms, epoch, clock_s, origin_number,
        len(origin), len(topic), key_bytes,
    )  # fmt: skip
    body = b"".join((fixed, origin, topic, key or b"", value))
    return _HEAD.pack(_MAGIC, len(body), zlib.crc32(body)) + body


def decode_at(data: bytes, at: int) -> tuple[Record, int] | None:
    """The record that begins at `at`, and where it ends; None: there is no whole one."""
    begin = at + _HEAD_BYTES
    if begin > len(data):
        return None
    magic, length, crc = _HEAD.unpack_from(data, at)
    end = begin + length
    if magic != _MAGIC or length < _BODY_BYTES or end > len(data):
        return None
    body = data[begin:end]
    return (_decode(body), end) if zlib.crc32(body) == crc else None


def bytes_wanted(data: bytes, at: int) -> int:
    """How long the record at `at` says it is; 0 where none begins."""
    if at + _HEAD_BYTES > len(data):
        return 0
    magic, length, _ = _HEAD.unpack_from(data, at)
    return _HEAD_BYTES + length if magic == _MAGIC else 0


def find_whole(data: bytes, at: int) -> int | None:
    """Where the next whole record begins, from `at` on."""
    while (at := data.find(_MAGIC, at)) >= 0:
        if decode_at(data, at):
            return at
        at += 1
    return None


def _decode(body: bytes) -> Record:
    fixed = _BODY.unpack_from(body)
    serial, place, number, time_ms, epoch, clock_s, origin_number = fixed[:7]
    origin_bytes, topic_bytes, key_bytes = fixed[7:]
    topic_at = _BODY_BYTES + origin_bytes
    key_at = topic_at + topic_bytes
    value_at = key_at if key_bytes == _NO_KEY else key_at + key_bytes
    draft = Draft(
        body[topic_at:key_at],
        None if key_bytes == _NO_KEY else body[key_at:value_at],
        body[value_at:],
        body[_BODY_BYTES:topic_at],
        origin_number,
    )
    return Record(serial, place, number, time_ms, draft, epoch, clock_s)
