"""Tasks of a batch follow its rows, its partitions and the slots; no site takes all of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.ingest.core.sharing import (
    FIRST_ROWS,
    LEAST_SHARED_ROWS,
    LONGEST_REST_S,
    SENDS_WITHIN_S,
    SHARED_ROWS,
    SHARED_S,
    BatchLimits,
    Crowd,
    FinishedBatch,
    Portion,
    fixed_rows,
    task_count,
)


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
def test_where_nothing_is_measured_a_batch_is_short_beside_others(
    wished: int, sites: int, most: int
) -> None:
    assert fixed_rows(wished, sites) == most


limits = st.builds(
    BatchLimits,
    rows=st.integers(1, 5_000_000),
    size=st.integers(1 << 20, 1 << 32),
    sites=st.integers(1, 5),
    slots=st.integers(1, 64),
)


@pytest.mark.generated
@given(
    limits,
    st.lists(
        st.tuples(st.floats(0, 1), st.floats(0, 600), st.integers(0, 50 << 20), st.booleans()),
        max_size=20,
    ),
)
def test_no_portion_is_beyond_any_bound_whatever_the_batches_were(
    limits: BatchLimits, batches: list[tuple[float, float, int, bool]]
) -> None:
    """Batches that read a share of what they might, took so long, of records of one size each."""
    portion = limits.first
    assert 1 <= portion.rows <= min(FIRST_ROWS, limits.rows)
    for share, took_s, record_size, beside_fresh in batches:
        rows = int(portion.rows * share)
        done = FinishedBatch(rows, took_s, rows, rows * record_size)
        is_full = limits.is_full(portion, done)
        portion = limits.next_portion(portion, done, beside_fresh=beside_fresh)
        assert 1 <= portion.rows <= limits.rows
        if rows and record_size:
            assert portion.rows == 1 or portion.rows * record_size <= limits.size
        assert 0 <= portion.rest_s <= LONGEST_REST_S
        if not (beside_fresh and is_full):
            assert portion.rest_s == 0


@pytest.mark.generated
@given(
    st.floats(1_000, 1_000_000),
    st.floats(0.01, 0.5),
    st.integers(2, 5),
    st.floats(0.1, 10),
)
def test_a_backlog_beside_others_is_read_in_batches_of_about_a_second(
    rows_per_s: float, price_s: float, sites: int, slower: float
) -> None:
    """On a machine that becomes slower or quicker meanwhile."""
    limits = BatchLimits(rows=2_000_000, size=1 << 40, sites=sites, slots=2)
    portion = limits.first
    for speed in (rows_per_s, rows_per_s / slower):
        for _ in range(20):
            took_s = price_s + portion.rows / speed
            portion = limits.next_portion(
                portion, FinishedBatch(portion.rows, took_s), beside_fresh=True
            )
        took_s = price_s + portion.rows / speed
        is_short = took_s <= 1.3 * SHARED_S
        assert is_short or portion.rows == LEAST_SHARED_ROWS
        assert took_s > 0.5 * SHARED_S or portion.rows == limits.rows


def test_a_site_alone_reads_all_that_its_bounds_allow_after_a_few_batches() -> None:
    limits = BatchLimits(rows=2_000_000, size=1 << 30, sites=1, slots=2)
    portion, sizes = limits.first, []
    while portion.rows < 2_000_000:
        sizes.append(portion.rows)
        done = FinishedBatch(portion.rows, 60.0, portion.rows, portion.rows * 250)
        portion = limits.next_portion(portion, done, beside_fresh=False)
    assert sizes == [100_000, 400_000, 1_600_000]


def test_few_messages_of_a_slow_machine_leave_room_for_a_backlog() -> None:
    limits = BatchLimits(rows=2_000_000, size=1 << 30, sites=3, slots=2)
    portion = limits.next_portion(
        limits.first, FinishedBatch(10, 30.0, 10, 2_500), beside_fresh=True
    )
    assert portion == Portion(LEAST_SHARED_ROWS)


@pytest.mark.parametrize(("slots", "rest_s"), [(1, 2.0), (2, 2.0), (5, 0.5), (64, 2 / 63)])
def test_the_fewer_the_cores_the_longer_a_backlog_rests_beside_fresh_sites(
    slots: int, rest_s: float
) -> None:
    limits = BatchLimits(rows=2_000_000, size=1 << 30, sites=2, slots=slots)
    portion = limits.next_portion(Portion(50_000), FinishedBatch(50_000, 2.0), beside_fresh=True)
    assert portion.rest_s == pytest.approx(rest_s)


def test_only_sites_that_send_and_are_not_behind_are_made_room_for() -> None:
    crowd = Crowd()
    assert not crowd.has_fresh_beside("behind", 0.0)
    crowd.on_batch("behind", 0.0, is_behind=True)
    assert not crowd.has_fresh_beside("behind", 1.0)
    crowd.on_batch("also-behind", 1.0, is_behind=True)
    assert not crowd.has_fresh_beside("behind", 1.0)
    crowd.on_batch("fresh", 2.0, is_behind=False)
    assert crowd.has_fresh_beside("behind", 3.0)
    assert not crowd.has_fresh_beside("fresh", 3.0)
    assert not crowd.has_fresh_beside("behind", 2.0 + SENDS_WITHIN_S)
