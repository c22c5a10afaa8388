"""How far each partition is brought, as records of a compacted topic."""

from __future__ import annotations

import json

from millrace.core.coordinates import Part


def encode(part: Part, offset: int) -> tuple[bytes, bytes]:
    """Key and value."""
    return json.dumps(list(part), separators=(",", ":")).encode(), str(offset).encode()


def decode(key: bytes, value: bytes) -> tuple[Part, int]:
    site, topic, partition = json.loads(key)
    return Part(site, topic, partition), int(value)
