"""Tasks of a batch follow its rows, its partitions and the slots; no site takes all of them."""

from __future__ import annotations

import pytest

from millrace.core.sharing import SHARED_ROWS, rows_per_batch, task_count


@pytest.mark.parametrize(
    ("rows", "partitions", "slots", "sites", "tasks"),
    [
        (0, 0, 2, 1, 1),
        (100, 8, 8, 1, 1),
        (50_000, 8, 8, 1, 1),
        (50_001, 8, 8, 1, 2),
        (2_000_000, 8, 8, 1, 8),
        (2_000_000, 8, 4, 1, 4),
        (2_000_000, 8, 2, 1, 2),
        (2_000_000, 3, 8, 1, 3),
        (2_000_000, 1, 8, 1, 1),
        (None, 8, 4, 1, 4),
        (None, 0, 4, 1, 1),
        (2_000_000, 8, 4, 2, 3),
        (2_000_000, 8, 2, 3, 1),
        (2_000_000, 8, 1, 3, 1),
    ],
)
def test_tasks_of_a_batch(
    rows: int | None, partitions: int, slots: int, sites: int, tasks: int
) -> None:
    assert task_count(rows, partitions, slots, sites) == tasks


@pytest.mark.parametrize(
    ("wished", "sites", "most"),
    [(2_000_000, 1, 2_000_000), (2_000_000, 2, SHARED_ROWS), (50, 2, 50)],
)
def test_a_batch_is_short_where_others_wait_for_its_end(wished: int, sites: int, most: int) -> None:
    assert rows_per_batch(wished, sites) == most
