"""Messages that came twice, known by what their producer called them.

A producer whose answer was lost sends again; where the first request arrives all the same, the
broker has the message twice, at two offsets. The second is a twin: bronze keeps it, and silver
does not take it. What was seen is kept as ranges, since a producer counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from millrace.base.ranges import Range, Ranges, joined

# More than this of one producer's ranges is forgotten from the oldest on: only a twin that comes
# behind so many holes would pass for a message of its own.
MOST_RANGES = 10_000
# Beyond so many senders, or ranges of all of them, those are forgotten that have sent nothing for
# the longest: a twin of theirs would pass. All that is kept goes to each task of each batch.
MOST_SENDERS = 10_000
MOST_RANGES_IN_ALL = 50_000

# By producer and epoch, as jvm/src/millrace/duplicates names them.
Seen = Mapping[str, Ranges]


def joined_seen(before: Seen, batch: Seen) -> dict[str, Ranges]:
    """What was seen after a batch; the senders that sent last are the last."""
    resting = {sender: ranges for sender, ranges in before.items() if sender not in batch}
    heard = {
        sender: joined([*before.get(sender, ()), *batch[sender]])[-MOST_RANGES:]
        for sender in sorted(batch)
    }
    return bounded(resting | heard)


def bounded(seen: Seen) -> dict[str, Ranges]:
    """As many of the last senders as there is room for."""
    kept: list[str] = []
    room = MOST_RANGES_IN_ALL
    for sender in reversed(list(seen)):
        room -= len(seen[sender])
        if room < 0 or len(kept) == MOST_SENDERS:
            break
        kept.append(sender)
    return {sender: seen[sender] for sender in reversed(kept)}


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
