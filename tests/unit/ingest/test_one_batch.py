"""A batch ends in the same tables wherever it was interrupted, and however often.

The order and the decisions are the job's own (ingest/core/one_batch.py), and so is what remembers
the senders' numbers; the tables and the judging are lists. tests/spark/ingest/test_one_batch.py
holds some of the same lives against real tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.base.ranges import Range, Ranges
from millrace.ingest.core.duplicates import Seen, joined_seen
from millrace.ingest.core.one_batch import Layer, carry
from millrace.ingest.core.record_span import Span
from millrace.ingest.io.duplicate_files import TwinFiles, TwinMemory
from tests.batch_lives import Crash, Life, Record, lives

Done = TypeVar("Done")


class CrashError(Exception):
    pass


@dataclass
class Fate:
    """The steps of one try are counted; at its moment it ends."""

    crash: Crash | None
    steps: int = 0

    def step(self, *, is_before: bool) -> None:
        if self.crash is not None and self.crash == Crash(self.steps, is_before=is_before):
            raise CrashError
        self.steps += not is_before


@dataclass
class InMemoryFiles:
    texts: dict[str, str] = field(default_factory=dict)

    def read(self, name: str) -> str | None:
        return self.texts.get(name)

    def put(self, name: str, text: str) -> None:
        self.texts[name] = text


@dataclass
class Table:
    rows: list[tuple[int, int]] = field(default_factory=list)
    batch: int = -1
    commits: list[int] = field(default_factory=list)

    def commit(self, rows: list[tuple[int, int]], batch: int) -> None:
        assert batch > self.batch, "the table holds the batch"
        self.rows += rows
        self.batch = batch
        self.commits.append(batch)


Marked = list[tuple[Record, bool]]


def mark(records: list[Record], before: Seen) -> tuple[Marked, dict[str, set[int]]]:
    """As one task does: the second of a number is the twin."""
    firsts: dict[str, set[int]] = {}
    marked = []
    for record in records:
        is_twin = False
        if record.sender is not None:
            known = firsts.setdefault(record.sender, set())
            is_twin = record.number in known or holds(before.get(record.sender, ()), record.number)
            if not is_twin:
                known.add(record.number)
        marked.append((record, is_twin))
    return marked, firsts


def holds(ranges: Ranges, number: int) -> bool:
    return any(one.first <= number <= one.last for one in ranges)


def as_seen(firsts: dict[str, set[int]]) -> Seen:
    return {
        sender: tuple(Range(first=n, last=n) for n in sorted(numbers))
        for sender, numbers in firsts.items()
    }


@dataclass
class Lake:
    tables: dict[Layer, Table] = field(default_factory=lambda: {one: Table() for one in Layer})
    files: InMemoryFiles = field(default_factory=InMemoryFiles)
    records: dict[tuple[int, int], Record] = field(default_factory=dict)

    def lately_seen(self, span: Span) -> Seen:
        """What stands in bronze before the span, as spark_jobs/refine/duplicate_rows.py has it."""
        start = {part.partition: offset for part, offset in span.start().items()}
        rows = (
            self.records[row]
            for row in self.tables[Layer.BRONZE].rows
            if row[1] < start.get(row[0], row[1] + 1)
        )
        return joined_seen({}, as_seen(mark(list(rows), {})[1]))


@dataclass
class ModelBatch:
    lake: Lake
    memory: TwinMemory
    number: int
    span: Span
    records: list[Record]
    fate: Fate

    def is_in_bronze(self) -> bool:
        return self.lake.tables[Layer.BRONZE].batch >= self.number

    def append_raw(self) -> None:
        self._append(Layer.BRONZE, [record.at for record in self.records])

    def is_readable(self, before: Seen) -> None:
        """The model counts nothing."""

    def before(self) -> Seen:
        return self._do(lambda: self.memory.before(self.number, self.span))

    def write(self, before: Seen, *, in_order: bool = False) -> ModelFiles:
        """Two tasks, with every other partition each."""
        if in_order:
            tasks = [sorted(self.records, key=lambda record: record.at)]
        else:
            tasks = [[r for r in self.records if r.at[0] % 2 == task] for task in (0, 1)]
        marks = [mark(task, before) for task in tasks]
        marked = [row for rows, _ in marks for row in rows]
        return ModelFiles(self, before, marked, [firsts for _, firsts in marks])

    def append_accepted(self, before: Seen) -> None:
        marked, _ = mark(self._held(), before)
        self._append(Layer.SILVER, [r.at for r, is_twin in marked if r.is_good and not is_twin])

    def append_left_over(self, before: Seen) -> None:
        silver = set(self.lake.tables[Layer.SILVER].rows)
        marked, _ = mark(self._held(), before)
        self._append(Layer.QUARANTINE, [r.at for r, _ in marked if r.at not in silver])

    def seen_in_bronze(self, before: Seen) -> Seen:
        return joined_seen(before, as_seen(mark(self._held(), before)[1]))

    def keep(self, seen: Seen) -> None:
        self._do(lambda: self.memory.keep(self.number, seen))

    def commit(self, layer: Layer, rows: list[tuple[int, int]]) -> None:
        self._do(lambda: self.lake.tables[layer].commit(rows, self.number))

    def _append(self, layer: Layer, rows: list[tuple[int, int]]) -> None:
        if self.lake.tables[layer].batch < self.number:
            self.commit(layer, rows)

    def _held(self) -> list[Record]:
        held = set(self.lake.tables[Layer.BRONZE].rows)
        return sorted((r for r in self.records if r.at in held), key=lambda record: record.at)

    def _do(self, effect: Callable[[], Done]) -> Done:
        self.fate.step(is_before=True)
        done = effect()
        self.fate.step(is_before=False)
        return done


@dataclass
class ModelFiles:
    batch: ModelBatch
    before: Seen
    marked: Marked
    firsts: list[dict[str, set[int]]]

    def are_at_odds(self) -> bool:
        taken = [(sender, n) for one in self.firsts for sender in one for n in one[sender]]
        return len(taken) != len(set(taken))

    def has_rows(self, layer: Layer) -> bool:
        return bool(self._rows(layer))

    def commit(self, layer: Layer) -> None:
        self.batch.commit(layer, self._rows(layer))

    def are_readable(self) -> None:
        """The model counts nothing."""

    def seen(self) -> Seen:
        seen = dict(self.before)
        for firsts in self.firsts:
            seen = joined_seen(seen, as_seen(firsts))
        return seen

    def _rows(self, layer: Layer) -> list[tuple[int, int]]:
        if layer is Layer.BRONZE:
            return [record.at for record, _ in self.marked]
        accepted = layer is Layer.SILVER
        return [r.at for r, twin in self.marked if (r.is_good and not twin) == accepted]


def live(life: Life, *, apart: bool = False) -> Lake:
    lake = Lake()
    lake.records = {record.at: record for batch in life.batches for record in batch.records}
    memory = TwinMemory(TwinFiles(lake.files), lake.lately_seen)
    for number, batch in enumerate(life.batches):
        for crash in (*batch.crashes, None):
            try:
                span = batch.span
                carry(
                    ModelBatch(lake, memory, number, span, batch.records, Fate(crash)), apart=apart
                )
                break
            except CrashError:
                if batch.ends_process:
                    memory = TwinMemory(TwinFiles(lake.files), lake.lately_seen)
    return lake


@pytest.mark.generated
@given(lives(), st.booleans())
def test_a_batch_ends_in_the_same_tables_wherever_it_was_interrupted(
    life: Life, apart: bool
) -> None:
    lake = live(life, apart=apart)
    bronze, silver, quarantine = (sorted(lake.tables[layer].rows) for layer in Layer)
    assert bronze == sorted(lake.records), "each record is in bronze once"
    assert sorted([*silver, *quarantine]) == bronze, "and in silver or quarantine once"
    named = [(r.sender, r.number) for r in map(lake.records.__getitem__, silver) if r.sender]
    assert len(named) == len(set(named)), "a sender's number is in silver once"
    calm = live(life.without_crashes(), apart=apart)
    # Two in different partitions have no order; else it is the second that is the twin.
    assert len(silver) == len(calm.tables[Layer.SILVER].rows)
    if not life.crosses_partitions:
        assert silver == sorted(calm.tables[Layer.SILVER].rows)


@pytest.mark.generated
@given(lives(), st.booleans())
def test_a_good_message_is_missing_in_silver_only_for_a_twin_that_came(
    life: Life, apart: bool
) -> None:
    lake = live(life, apart=apart)
    silver = set(lake.tables[Layer.SILVER].rows)
    missing = (r for at, r in lake.records.items() if r.is_good and at not in silver)
    numbers = [(r.sender, r.number, r.at) for r in lake.records.values()]
    for one in missing:
        others = [at for sender, n, at in numbers if (sender, n) == (one.sender, one.number)]
        assert one.sender is not None
        assert len(others) > 1
