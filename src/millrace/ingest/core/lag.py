"""Lag and speed of a query: arithmetic on offsets, free of clocks and brokers."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from millrace.jobs.core.heartbeat import PartitionLag

Partition = tuple[str, int]
Offsets = Mapping[Partition, int]

# As an offset to begin at, Spark takes it for the oldest record that there is.
_OLDEST = -2


@dataclass(frozen=True)
class HeldOffsets:
    """What a broker still holds of a partition: offsets from `low` up to, without, `high`."""

    low: int
    high: int


def parse_offsets(text: str) -> dict[Partition, int]:
    """Spark's way to write offsets: `{"topic": {"0": 12}}`."""
    topics: dict[str, dict[str, int]] = json.loads(text)
    return {
        (topic, int(number)): offset
        for topic, partitions in topics.items()
        for number, offset in partitions.items()
    }


def rows_between(before: Offsets, after: Offsets) -> int:
    """How many offsets were read; a partition that was not known before counts from now on.

    A position in a topic that was made anew may be behind the position in the former one.
    """
    return sum(max(0, offset - before.get(part, offset)) for part, offset in after.items())


def start_positions(
    committed: Offsets, bounds: Mapping[Partition, HeldOffsets]
) -> dict[Partition, int]:
    """The next offset to read everywhere; a partition never read begins at its oldest record."""
    return {**{part: held.low for part, held in bounds.items()}, **committed}


def start_after(held: Offsets, bounds: Mapping[Partition, HeldOffsets]) -> str:
    """Where a stream without a checkpoint begins, in Spark's words: behind what a table has.

    A number, wherever it is still there: what retention deletes before the first batch is then an
    error, and not skipped.
    """
    topics: dict[str, dict[str, int]] = {}
    for (topic, number), there in sorted(bounds.items(), key=lambda one: one[0]):
        following = held.get((topic, number), 0)
        begin = following if following and following >= there.low else _OLDEST
        topics.setdefault(topic, {})[str(number)] = begin
    return json.dumps(topics)


def waiting(positions: Offsets, bounds: Mapping[Partition, HeldOffsets]) -> dict[Partition, int]:
    """Partitions with records not yet in the table, and where these begin."""
    return {
        part: positions[part]
        for part, held in bounds.items()
        if part in positions and positions[part] < held.high
    }


def overtaken(
    positions: Offsets, bounds: Mapping[Partition, HeldOffsets]
) -> dict[Partition, HeldOffsets]:
    """Offsets that the broker deleted before they were read; `positions` are asked for last.

    Asked for before the bounds, they would be those of records that were read, then deleted.
    """
    return {
        part: HeldOffsets(positions[part], held.low)
        for part, held in bounds.items()
        if part in positions and positions[part] < held.low
    }


def moved_ends(bounds: Mapping[Partition, HeldOffsets], seen: Offsets) -> dict[Partition, int]:
    """Ends of partitions that have records, and whose end was another when it was last seen."""
    return {
        part: held.high for part, held in bounds.items() if held.low < held.high != seen.get(part)
    }


def measure(
    positions: Offsets,
    bounds: Mapping[Partition, HeldOffsets],
    oldest: Mapping[Partition, datetime],
    newest: Mapping[Partition, datetime],
) -> tuple[PartitionLag, ...]:
    """One line per partition; where the broker was never asked, its end is taken as reached."""
    return tuple(
        PartitionLag(
            topic=part[0],
            partition=part[1],
            position=position,
            end=bounds[part].high if part in bounds else position,
            oldest_waiting=oldest.get(part),
            newest_at=_latest(newest.get(part), oldest.get(part)),
        )
        for part, position in sorted(positions.items())
    )


def _latest(*moments: datetime | None) -> datetime | None:
    """The newest record is asked for less often than the oldest that waits."""
    return max((moment for moment in moments if moment), default=None)


def batch_rows(begin: Offsets, end: Offsets) -> int | None:
    """How many offsets a batch spans; None where a partition has no known beginning."""
    if not end.keys() <= begin.keys():
        return None
    return sum(max(0, offset - begin[part]) for part, offset in end.items())


@dataclass
class Throughput:
    """Rows per second over the last `window_s` seconds."""

    window_s: float
    total: int = 0
    _recent: deque[tuple[float, int]] = field(default_factory=deque)

    def on_rows(self, at_s: float, rows: int) -> None:
        self.total += rows
        self._recent.append((at_s, rows))

    def per_s(self, now_s: float) -> float:
        while self._recent and self._recent[0][0] <= now_s - self.window_s:
            self._recent.popleft()
        return sum(rows for _, rows in self._recent) / self.window_s
