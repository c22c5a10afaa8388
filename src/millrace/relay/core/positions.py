"""How far each partition is brought, as records of a compacted topic."""

from __future__ import annotations

import json
import zlib
from typing import NamedTuple

from millrace.kafka.core.coordinates import Part


class TopicIds(NamedTuple):
    """The ids of a topic at its site and of its topic at the target: a topic that is deleted and
    made anew has the name of the old one, and another id."""

    topic_id: str
    target_id: str


class Mark(NamedTuple):
    """The last record that was brought, so that it is known again."""

    offset: int
    print: int


class Position(NamedTuple):
    """Of one partition: the next offset, in which topic. `last` is absent before the first record,
    and after a person agreed to a loss."""

    topic_id: str
    offset: int
    target_id: str
    last: Mark | None = None

    def is_ahead_of(self, known: Position | None) -> bool:
        return known is None or known.topic_id != self.topic_id or self.offset > known.offset


def fingerprint(key: bytes | None, value: bytes | None, time_ms: int) -> int:
    """Tells records apart that stand at one offset of two logs."""
    return zlib.crc32(b"%d" % time_ms, zlib.crc32(value or b"", zlib.crc32(key or b"")))


def encode(part: Part, position: Position) -> tuple[bytes, bytes]:
    """Key and value."""
    return _json([part.site, part.topic, part.partition]), _json(position._asdict())


def decode(key: bytes, value: bytes) -> tuple[Part, Position]:
    site, topic, partition = json.loads(key)
    found = json.loads(value)
    last = found.pop("last")
    return Part(site, topic, partition), Position(**found, last=Mark(*last) if last else None)


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
