"""Lag arithmetic against hand-made offsets."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.base.backoff import Backoff
from millrace.ingest.core.lag import (
    HeldOffsets,
    Offsets,
    Throughput,
    batch_rows,
    measure,
    moved_ends,
    parse_offsets,
    rows_between,
    start_after,
    start_positions,
    waiting,
)

P0, P1 = ("readings", 0), ("readings", 1)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_spark_offsets_are_read_per_partition() -> None:
    assert parse_offsets('{"readings": {"0": 12, "1": 0}}') == {P0: 12, P1: 0}


def test_a_partition_never_read_begins_at_its_oldest_record() -> None:
    bounds = {P0: HeldOffsets(0, 10), P1: HeldOffsets(40, 50)}
    assert start_positions({P0: 7}, bounds) == {P0: 7, P1: 40}


def test_what_was_read_counts_also_where_the_broker_never_answered() -> None:
    positions = start_positions({P0: 7}, {})
    (part,) = measure(positions, {}, {}, {})
    assert (part.position, part.end, part.records) == (7, 7, 0)


def test_only_partitions_with_records_left_wait() -> None:
    bounds = {P0: HeldOffsets(0, 10), P1: HeldOffsets(0, 5)}
    assert waiting({P0: 4, P1: 5}, bounds) == {P0: 4}


def test_lag_is_the_distance_to_the_broker_end() -> None:
    bounds = {P0: HeldOffsets(0, 10), P1: HeldOffsets(0, 5)}
    first, second = measure({P1: 5, P0: 4}, bounds, {P0: NOON}, {P1: NOON})
    assert (first.partition, first.records, first.oldest_waiting) == (0, 6, NOON)
    assert (second.partition, second.records, second.oldest_waiting) == (1, 0, None)
    assert (first.newest_at, second.newest_at) == (NOON, NOON)


def test_what_waits_is_never_newer_than_the_newest_message() -> None:
    bounds, later = {P0: HeldOffsets(0, 10)}, NOON + timedelta(seconds=5)
    for oldest, newest in ((NOON, later), (later, NOON)):
        (part,) = measure({P0: 4}, bounds, {P0: oldest}, {P0: newest})
        assert (part.oldest_waiting, part.newest_at) == (oldest, later)


@pytest.mark.parametrize(
    ("held", "seen", "asked"),
    [
        (HeldOffsets(0, 10), {}, {P0: 10}),
        (HeldOffsets(0, 10), {P0: 10}, {}),
        (HeldOffsets(0, 11), {P0: 10}, {P0: 11}),
        (HeldOffsets(0, 3), {P0: 10}, {P0: 3}),
        (HeldOffsets(10, 10), {}, {}),
    ],
    ids=["never seen", "stands", "grew", "made anew", "empty"],
)
def test_the_newest_record_is_looked_for_where_an_end_moved(
    held: HeldOffsets, seen: dict, asked: dict
) -> None:
    assert moved_ends({P0: held}, seen) == asked


def test_a_new_checkpoint_begins_behind_what_the_table_has() -> None:
    held = {("a", 0): 8, ("a", 1): 3, ("gone", 0): 7}
    bounds = {("a", 0): HeldOffsets(2, 9), ("a", 1): HeldOffsets(5, 9), ("b", 0): HeldOffsets(0, 4)}
    # The broker has deleted what follows in a-1, and b is new: both from the oldest record on.
    assert json.loads(start_after(held, bounds)) == {"a": {"0": 8, "1": -2}, "b": {"0": -2}}


def test_a_table_that_has_all_that_is_gone_begins_there_and_not_at_the_oldest() -> None:
    """Else what retention deletes between this look and the first batch is skipped in silence."""
    assert json.loads(start_after({P0: 5}, {P0: HeldOffsets(5, 9)})) == {"readings": {"0": 5}}


parts = st.dictionaries(
    st.tuples(st.sampled_from("ab"), st.integers(0, 2)),
    st.tuples(
        st.none() | st.integers(0, 6), st.integers(0, 6), st.integers(0, 4), st.integers(0, 2)
    ),
)


@pytest.mark.generated
@given(parts, st.booleans())
def test_a_new_checkpoint_takes_nothing_twice_and_passes_over_only_what_was_gone(
    found: dict, has_others: bool
) -> None:
    """Whatever the table holds of a partition, below, between and above what the broker has; and
    whatever retention deletes before the first batch."""
    held = {part: ends for part, (ends, *_) in found.items() if ends is not None}
    bounds = {part: HeldOffsets(low, low + more) for part, (_, low, more, _) in found.items()}
    others = {("gone", 0): 3} if has_others else {}
    begins = parse_offsets(start_after(held | others, bounds))
    assert begins.keys() == bounds.keys()
    for part, (_, low, more, deleted) in found.items():
        oldest = min(low + deleted, low + more)
        # As Spark reads it: a number is there or is an error, of which the operator hears.
        begin = oldest if begins[part] == -2 else begins[part]
        if not held.get(part):
            assert begins[part] == -2, "all that there is, however little that is by then"
        else:
            assert begin >= held[part], "nothing twice"
            assert begin == held[part] or held[part] < low, "what was there is not passed over"
            assert begin in (held[part], oldest)


@pytest.mark.parametrize(
    ("begin", "end", "rows"),
    [
        ({P0: 3}, {P0: 10}, 7),
        ({P0: 3, P1: 1}, {P0: 3, P1: 2}, 1),
        ({}, {P0: 10}, None),
        ({P0: 3}, {P0: 4, P1: 9}, None),
    ],
    ids=["one partition", "one stands", "first batch", "new partition"],
)
def test_rows_of_a_batch(begin: dict, end: dict, rows: int | None) -> None:
    assert batch_rows(begin, end) == rows


def test_throughput_forgets_what_left_the_window() -> None:
    #  0 s: 50 rows    8 s: 30 rows    window 10 s
    speed = Throughput(window_s=10)
    speed.on_rows(at_s=0, rows=50)
    speed.on_rows(at_s=8, rows=30)
    assert speed.per_s(now_s=9) == 8.0
    assert speed.per_s(now_s=10) == 3.0
    assert speed.per_s(now_s=18) == 0.0
    assert speed.total == 80


def test_backoff_doubles_up_to_its_bound_and_a_healthy_life_resets_it() -> None:
    backoff = Backoff(first_s=1, longest_s=15, healthy_s=60)
    assert [backoff.on_failure(lived_s=1) for _ in range(6)] == [1, 2, 4, 8, 15, 15]
    assert backoff.on_failure(lived_s=61) == 1


@pytest.mark.parametrize(
    ("before", "after", "rows"),
    [
        ({("t", 0): 5}, {("t", 0): 9}, 4),
        ({("t", 0): 5, ("t", 1): 1}, {("t", 0): 9, ("t", 1): 3}, 6),
        ({}, {("t", 0): 9}, 0),
        ({("t", 0): 500, ("t", 1): 1}, {("t", 0): 3, ("t", 1): 3}, 2),
    ],
    ids=["one partition", "two", "not known before", "one of a topic made anew"],
)
def test_rows_are_counted_between_two_looks(before: Offsets, after: Offsets, rows: int) -> None:
    assert rows_between(before, after) == rows
