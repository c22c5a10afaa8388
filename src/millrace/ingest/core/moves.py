"""How a query's checkpoint comes to another incarnation of a topic: one small write at a time.

Spark goes on from the newest batch in a checkpoint. So an empty batch is put there, which ends
where the new topic begins. What is to be put is written down first, in the histories; after a
crash between any two writes the same question has the same answer, or the next.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from millrace.ingest.core.lag import Offsets
from millrace.kafka.core.incarnations import Histories, Incarnation, Move

_NONE = -1
# As Spark writes it of a batch without state.
_COMMIT = 'v1\n{"nextBatchWatermarkMs":0}'


@dataclass(frozen=True)
class Kept:
    """What the checkpoint says. A batch is planned, then committed; -1 where none is."""

    histories: Histories
    planned: int
    committed: int
    # Where the next batch begins.
    positions: Offsets
    # The file of the planned batch, and that of the committed one; empty where there is none.
    offsets: str = ""
    commit: str = ""
    # Spark has written down where the query begins, before its first batch.
    has_beginning: bool = False


@dataclass(frozen=True)
class Found:
    """A topic as its broker has it: another one than was read, or the same in an older state."""

    # Under which it is to be known.
    id: str
    # The first offset to read of each partition.
    begins: Mapping[int, int]


@dataclass(frozen=True)
class PutHistories:
    histories: Histories


@dataclass(frozen=True)
class PutOffsets:
    batch: int
    text: str


@dataclass(frozen=True)
class PutCommit:
    batch: int
    text: str


@dataclass(frozen=True)
class DropBeginning:
    """Spark finds out anew where the query begins."""


@dataclass(frozen=True)
class Settle:
    """Find out whether bronze holds the planned batch; if so, give it to the other tables too.

    From then on nobody can write it to bronze, so the answer stays.
    """

    batch: int


Step = PutHistories | PutOffsets | PutCommit | DropBeginning | Settle


def next_step(
    kept: Kept, found: Mapping[str, Found], now: datetime, *, is_held: bool | None = None
) -> Step | None:
    """`found`: the topics to move to. `is_held`: the answer to `Settle`; None before it.

    None where nothing is left to do, and the query may begin.
    """
    move = kept.histories.move
    if move and kept.committed < move.batch:
        return _finish(move, kept)
    newest = kept.histories.newest
    left = {t: one for t, one in found.items() if t not in newest or newest[t].id != one.id}
    if not left:
        return None
    if kept.planned == _NONE:
        return DropBeginning() if kept.has_beginning else PutHistories(_moved(kept, left, now))
    if kept.planned > kept.committed and is_held is not False:
        return PutCommit(kept.planned, kept.commit or _COMMIT) if is_held else Settle(kept.planned)
    return PutHistories(_moved(kept, left, now, kept.committed + 1))


def _finish(move: Move, kept: Kept) -> Step:
    if (kept.planned, kept.offsets) != (move.batch, move.offsets):
        return PutOffsets(move.batch, move.offsets)
    return PutCommit(move.batch, move.commit)


def _moved(
    kept: Kept, found: Mapping[str, Found], now: datetime, batch: int | None = None
) -> Histories:
    added = {
        topic: Incarnation(
            id=one.id,
            since=_NONE if batch is None else batch,
            found_at=now,
            begins=dict(one.begins),
        )
        for topic, one in found.items()
    }
    move = None if batch is None else _move(kept, found, batch)
    return kept.histories.having(added, move)


def _move(kept: Kept, found: Mapping[str, Found], batch: int) -> Move:
    """The planned batch's own place, where nothing of it was kept; else the place behind it."""
    offsets: dict[str, dict[str, int]] = {}
    for (topic, number), offset in sorted(kept.positions.items()):
        offsets.setdefault(topic, {})[str(number)] = offset
    for topic, one in found.items():
        offsets[topic] = {str(number): begin for number, begin in sorted(one.begins.items())}
    version, settings, *_ = kept.offsets.splitlines()
    return Move(
        batch=batch,
        offsets=f"{version}\n{settings}\n{json.dumps(offsets)}",
        commit=kept.commit or _COMMIT,
    )
