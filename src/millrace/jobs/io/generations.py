"""Generations: one owner per checkpoint.

A generation is claimed by creating a file of its number that must not exist yet; in a bucket, by a
put that must be the first. Who is not the newest any more must not write.
"""

from __future__ import annotations

import uuid
from pathlib import Path

from millrace.storage.core.bucket import Bucket
from millrace.storage.io.objects import Objects, objects_at

_KEPT = 100


def latest(place: str | Path, bucket: Bucket | None = None) -> int:
    """The newest claimed generation; 0 where there was none."""
    return max(_claimed(objects_at(place, bucket)), default=0)


def claim(place: str | Path, generation: int, bucket: Bucket | None = None) -> bool:
    """Take a generation. False when it, or a newer one, is somebody else's already."""
    claims = objects_at(place, bucket)
    claimed = _claimed(claims)
    if max(claimed, default=0) >= generation:
        return False
    if not claims.put_new(str(generation), uuid.uuid4().hex):
        return False
    claims.delete(str(old) for old in claimed if old <= generation - _KEPT)
    return True


def _claimed(claims: Objects) -> list[int]:
    return [int(name) for name in claims.names() if name.isdigit()]
