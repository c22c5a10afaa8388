"""How the sites of one job share its cores: how much a batch reads, and by how many tasks."""

from __future__ import annotations

from math import ceil

# Each task writes a file of its own into each table, so few rows are one task's.
ROWS_WORTH_A_TASK = 50_000
# Where several sites share the cores: some two seconds of one of them, while others wait.
SHARED_ROWS = 200_000


# Fetched ahead from the brokers of all sites, by the consumers of one job.
PREFETCH_BYTES = 64 << 20


def prefetch_bytes(sites: int) -> int:
    """What the consumers of one site may hold; these share it among the site's partitions."""
    return PREFETCH_BYTES // sites


def rows_per_batch(wished: int, sites: int) -> int:
    """The most that a batch reads of a site; one that is behind goes on with the next at once."""
    return wished if sites == 1 else min(wished, SHARED_ROWS)


def task_count(rows: int | None, partitions: int, slots: int, sites: int = 1) -> int:
    """How many tasks write a batch; `rows`: None where nobody knows how many there are.

    `partitions`: those that have rows; each is read by one task. `slots`: tasks that the engine
    runs at a time. With several sites a slot stays free, so that none waits for another's backlog.
    """
    wanted = partitions if rows is None else min(partitions, ceil(rows / ROWS_WORTH_A_TASK))
    free = slots if sites == 1 else slots - 1
    return max(1, min(wanted, free))
