"""A broker that came back to an older state gives offsets again that it gave before.

The topic has the same id. Where it ends before what was read, that shows by itself; where it has
grown past that since, the record that was read last is another one now, or of another time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from millrace.ingest.core.lag import HeldOffsets, Offsets, Partition
from millrace.kafka.core.record_time import bounded

# A record's offset and its time in milliseconds.
Stamp = tuple[int, int]
Stamps = Mapping[Partition, Stamp]

_FIRST_LOOK, _GROWTH = 1_000, 10


def cut_off(positions: Offsets, bounds: Mapping[Partition, HeldOffsets]) -> set[Partition]:
    """The partitions that end before what was read of them."""
    return {part for part, held in bounds.items() if held.high < positions.get(part, 0)}


def still_there(read: Stamps, bounds: Mapping[Partition, HeldOffsets]) -> dict[Partition, int]:
    """Records that were read and that the broker can be asked for, if it is the same still."""
    return {
        part: offset
        for part, (offset, _) in read.items()
        if part in bounds and bounds[part].low <= offset < bounds[part].high
    }


def replaced(read: Stamps, at_broker: Stamps) -> set[Partition]:
    """The partitions that have another record now where one was read; a gap proves nothing.

    `read`: as a table keeps it, so with a time within bounds.
    """
    return {
        part
        for part, (offset, time_ms) in at_broker.items()
        if part in read and read[part] != (offset, bounded(time_ms)) and read[part][0] == offset
    }


def looks(low: int, end: int) -> Iterator[int]:
    """Where to begin to compare, further back each time, until that is the oldest record."""
    length, begin = _FIRST_LOOK, end
    while begin > low:
        begin = max(low, end - length)
        length *= _GROWTH
        yield begin
