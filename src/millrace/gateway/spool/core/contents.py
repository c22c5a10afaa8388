"""What the last numbered messages held, so that a number that comes again can be judged.

A message that is sent again has its number and holds the same. Another one with that number is of
another publisher that gives itself the same name, or of one that has begun to count anew.
"""

from __future__ import annotations

from array import array
from enum import Enum, auto

from millrace.gateway.spool.core.message_identity import content_of

# 16 bytes each, whatever the messages hold. A newer message takes the place of an older one.
PLACES = 1 << 16
_MASK = (1 << 64) - 1


class ContentComparison(Enum):
    SAME = auto()
    OTHER = auto()
    FORGOTTEN = auto()


class Contents:
    def __init__(self) -> None:
        self._names = array("Q", bytes(8 * PLACES))
        self._contents = array("Q", bytes(8 * PLACES))

    @property
    def size_bytes(self) -> int:
        return sum(len(one) * one.itemsize for one in (self._names, self._contents))

    def note(self, origin: bytes, number: int, key: bytes | None, value: bytes) -> None:
        name = hash((origin, number)) & _MASK
        place = name % PLACES
        self._names[place], self._contents[place] = name, content_of(key, value) & _MASK

    def compare(
        self, origin: bytes, number: int, key: bytes | None, value: bytes
    ) -> ContentComparison:
        """With what was noted under this number last."""
        name = hash((origin, number)) & _MASK
        place = name % PLACES
        if self._names[place] != name:
            return ContentComparison.FORGOTTEN
        is_same = self._contents[place] == content_of(key, value) & _MASK
        return ContentComparison.SAME if is_same else ContentComparison.OTHER
