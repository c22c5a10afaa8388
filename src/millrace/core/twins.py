"""Messages that came twice, known by what their producer called them.

A producer whose answer was lost sends again; where the first request arrives all the same, the
broker has the message twice, at two offsets. The second is a twin: bronze keeps it, and silver
does not take it. What was seen is kept as ranges, since a producer counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from millrace.core.ranges import Range, Ranges, joined

# More than this of one producer's ranges is forgotten from the oldest on: only a twin that comes
# behind so many holes would pass for a message of its own.
MOST_RANGES = 10_000

# By producer and epoch, as jvm/src/millrace/twins names them.
Seen = Mapping[str, Ranges]


def joined_seen(before: Seen, batch: Seen) -> dict[str, Ranges]:
    """What was seen after a batch."""
    return {
        sender: joined([*before.get(sender, ()), *batch.get(sender, ())])[-MOST_RANGES:]
        for sender in sorted({*before, *batch})
    }


def pairs_of(seen: Seen) -> dict[str, list[int]]:
    """As engines and files have it: first, last, first, last, and so on."""
    return {
        sender: [bound for one in ranges for bound in (one.first, one.last)]
        for sender, ranges in seen.items()
    }


def seen_of_pairs(pairs: Mapping[str, Iterable[int]]) -> dict[str, Ranges]:
    return {sender: tuple(_ranges(bounds)) for sender, bounds in pairs.items()}


def _ranges(bounds: Iterable[int]) -> Iterable[Range]:
    rest = iter(bounds)
    return (Range(first=first, last=last) for first, last in zip(rest, rest, strict=True))
