"""A spool's files as bytes: a heading, records behind each other, zeros up to the end."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from millrace.gateway.spool.core.ledger import Heading, MessageLedger
from millrace.gateway.spool.core.records import Record, decode_at, find_whole

SUFFIX = ".spool"
_MAGIC = b"MRspool1"
_HEAD = struct.Struct("<8sII")  # magic, length of the heading, its CRC-32


@dataclass(frozen=True)
class Hole:
    """Bytes that hold no record though records follow: they were damaged after they were kept."""

    begin: int
    end: int


@dataclass(frozen=True)
class Tail:
    """Where the records of the newest segment end."""

    end: int
    # Bytes behind it are not zero: a write that was cut short, of which nobody was told.
    is_torn: bool


def file_name(first_index: int) -> str:
    return f"{first_index:020d}{SUFFIX}"


def encode_heading(heading: Heading) -> bytes:
    body = heading.model_dump_json().encode()
    return _HEAD.pack(_MAGIC, len(body), zlib.crc32(body)) + body


def encode_heading_of(ledger: MessageLedger, most_bytes: int) -> bytes:
    """Origins that were silent for longest are forgotten until it is no longer than that."""
    data = encode_heading(ledger.heading())
    while len(data) > most_bytes and ledger.origin_count:
        ledger.keep_origins(ledger.origin_count * most_bytes // len(data) * 9 // 10)
        data = encode_heading(ledger.heading())
    return data


def heading_bytes(data: bytes) -> int:
    """Where the first record begins, by a segment's first bytes; 0 where they are damaged."""
    if len(data) < _HEAD.size:
        return 0
    magic, length, _ = _HEAD.unpack_from(data)
    return _HEAD.size + length if magic == _MAGIC else 0


HEAD_BYTES = _HEAD.size


def decode_heading(data: bytes) -> Heading | None:
    end = heading_bytes(data)
    if not end or end > len(data):
        return None
    body = data[_HEAD.size : end]
    if zlib.crc32(body) != _HEAD.unpack_from(data)[2]:
        return None
    return Heading.model_validate_json(body)


def read_records(data: bytes, at: int) -> Iterator[tuple[Record, int] | Hole]:
    """Whole records with where they end, and the holes between them."""
    while True:
        found = decode_at(data, at)
        if found is None:
            begin = find_whole(data, at)
            if begin is None:
                return
            yield Hole(at, begin)
            at = begin
            continue
        yield found
        at = found[1]


def find_tail(data: bytes, begin: int, first_index: int) -> Tail:
    """A group is written when the one before it is safe. So behind a hole only a record of a later
    group proves that the hole was safe once; without one, it is where a write was cut short."""
    end, expected = begin, first_index
    for found in read_records(data, begin):
        if isinstance(found, Hole):
            if not _was_safe(data, found.end, expected):
                break
            continue
        record, end = found
        expected = record.serial + 1
    return Tail(end, is_torn=data.count(0, end) < len(data) - end)


def _was_safe(data: bytes, at: int, missing: int) -> bool:
    """Whether what stands from `at` on was begun when message `missing` was safe."""
    found = (one for one in read_records(data, at) if not isinstance(one, Hole))
    return any(record.group > missing for record, _ in found)
