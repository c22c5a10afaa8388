"""Lives of a site's batches: what comes in each, and where each try is interrupted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from hypothesis import strategies as st

from millrace.ingest.core.record_span import Span

PARTITIONS = 3
# More than a batch has: before, three tables, and what is kept, with room to miss them all.
STEPS = 6


class Crash(NamedTuple):
    """Before or after a step that others can see."""

    step: int
    is_before: bool


@dataclass(frozen=True)
class Record:
    at: tuple[int, int]  # partition and offset
    sender: str | None
    number: int
    is_good: bool


@dataclass(frozen=True)
class OneBatch:
    span: Span
    records: list[Record]
    crashes: tuple[Crash, ...]
    # Or the query alone begins again, in the same process.
    ends_process: bool


@dataclass(frozen=True)
class Life:
    batches: tuple[OneBatch, ...]

    def without_crashes(self) -> Life:
        return Life(tuple(replace(one, crashes=()) for one in self.batches))

    @property
    def crosses_partitions(self) -> bool:
        places: dict[tuple[str, int], set[int]] = {}
        for record in (r for batch in self.batches for r in batch.records if r.sender):
            places.setdefault((str(record.sender), record.number), set()).add(record.at[0])
        return any(len(partitions) > 1 for partitions in places.values())


_CRASHES = st.lists(st.builds(Crash, st.integers(0, STEPS - 1), st.booleans()), max_size=3).map(
    tuple
)
_MESSAGE = st.tuples(
    st.integers(0, PARTITIONS - 1),
    st.sampled_from([None, "7 robot", "8 robot", "7 press"]),
    st.integers(0, 5),
    st.booleans() | st.just(True),
)


@st.composite
def lives(draw: st.DrawFn, most_batches: int = 4, most_messages: int = 8) -> Life:
    messages = st.lists(_MESSAGE, max_size=most_messages)
    batches, ends = [], [0] * PARTITIONS
    # A checkpoint knows where it began, or not.
    knows_begin = draw(st.booleans())
    for number in range(draw(st.integers(1, most_batches))):
        begin = list(ends)
        records = []
        for partition, sender, count, is_good in draw(messages):
            records.append(Record((partition, ends[partition]), sender, count, is_good))
            ends[partition] += 1
        before = _offsets(begin) if number or knows_begin else {}
        span = Span("plant-a", {"t": "the-id"}, before, _offsets(ends))
        batches.append(OneBatch(span, records, draw(_CRASHES), draw(st.booleans())))
    return Life(tuple(batches))


def _offsets(ends: list[int]) -> dict[tuple[str, int], int]:
    return {("t", partition): end for partition, end in enumerate(ends)}
