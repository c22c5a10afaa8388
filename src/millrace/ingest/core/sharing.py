"""How the sites of one job share its cores: how much a batch reads, and by how many tasks."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil

# Each task writes a file of its own into each table, so few rows are one task's.
ROWS_WORTH_A_TASK = 50_000
# Before anything is measured: little, as nobody knows how large and how slow its records are.
FIRST_ROWS = 100_000
# Where several sites share the cores, a batch of one that is behind is to take so long; the others
# wait for its tasks, and share memory, disk and broker with them.
SHARED_S = 1.0
# For a reader whose batches all have one bound, whatever the last took.
SHARED_ROWS = 200_000
# A batch has a price of its own: with fewer rows a site that is behind would never catch up.
LEAST_SHARED_ROWS = 20_000
# What a batch takes says little about one that is many times larger.
GROWTH = 4
# A site that sent nothing for so long needs no room.
SENDS_WITHIN_S = 30.0
LONGEST_REST_S = 5.0

# Fetched ahead from the brokers of all sites, by the consumers of one job.
PREFETCH_BYTES = 64 << 20


def prefetch_bytes(sites: int) -> int:
    """What the consumers of one site may hold; these share it among the site's partitions."""
    return PREFETCH_BYTES // sites


def fixed_rows(wished: int, sites: int) -> int:
    """The most that a batch reads where nothing is measured."""
    return wished if sites == 1 else min(wished, SHARED_ROWS)


def task_count(rows: int | None, partitions: int, slots: int, sites: int = 1) -> int:
    """How many tasks write a batch; `rows`: None where nobody knows how many there are.

    `partitions`: those that have rows; each is read by one task. `slots`: tasks that the engine
    runs at a time. With several sites a slot stays free, so that none waits for another's backlog.
    """
    wanted = partitions if rows is None else min(partitions, ceil(rows / ROWS_WORTH_A_TASK))
    free = slots if sites == 1 else slots - 1
    return max(1, min(wanted, free))


@dataclass(frozen=True)
class Portion:
    """What the next batch of a site reads at most, after a rest."""

    rows: int
    rest_s: float = 0.0


@dataclass(frozen=True)
class FinishedBatch:
    """A batch that is in all tables. `records` and `size` of what was read for it, where known."""

    rows: int
    took_s: float
    records: int = 0
    size: int = 0


@dataclass(frozen=True)
class BatchLimits:
    """Of a job, for each batch of each site."""

    rows: int
    size: int
    sites: int
    slots: int

    @property
    def first(self) -> Portion:
        return Portion(min(self.rows, FIRST_ROWS if self.sites == 1 else LEAST_SHARED_ROWS))

    def is_full(self, portion: Portion, done: FinishedBatch) -> bool:
        """More may wait. A portion is shared out among partitions, with less than a row lost."""
        return done.rows >= portion.rows * 0.9

    def next_portion(self, last: Portion, done: FinishedBatch, *, beside_fresh: bool) -> Portion:
        """`beside_fresh`: other sites of the job send, and are not behind."""
        is_full = self.is_full(last, done)
        rows = last.rows
        if is_full:
            rows = last.rows * GROWTH
        if self.sites > 1 and (is_full or done.took_s > SHARED_S):
            fitting = int(done.rows * SHARED_S / max(done.took_s, 0.001))
            rows = max(LEAST_SHARED_ROWS, min(rows, fitting))
        rows = max(1, min(rows, self.rows, self._rows_of_size(done, rows)))
        return Portion(rows, self._rest_s(done) if is_full and beside_fresh else 0.0)

    def _rows_of_size(self, done: FinishedBatch, wished: int) -> int:
        """By the mean size of a record of the batch; as wished where nothing was read."""
        if not done.records:
            return wished
        return int(self.size * done.records / max(1, done.size))

    def _rest_s(self, done: FinishedBatch) -> float:
        """Of two cores one half, of many cores little: what is not a task's needs about a core."""
        return min(LONGEST_REST_S, done.took_s / max(1, self.slots - 1))


@dataclass
class Crowd:
    """Which sites of a job send at the moment, and which of them are behind."""

    _last: dict[str, tuple[float, bool]] = field(default_factory=dict)

    def on_batch(self, site: str, now_s: float, *, is_behind: bool) -> None:
        self._last[site] = now_s, is_behind

    def has_fresh_beside(self, site: str, now_s: float) -> bool:
        return any(
            not is_behind and now_s - at_s < SENDS_WITHIN_S
            for other, (at_s, is_behind) in list(self._last.items())
            if other != site
        )
