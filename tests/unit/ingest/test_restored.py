"""A broker that came back to an older state is seen, where anything of it can be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.ingest.core.lag import HeldOffsets
from millrace.ingest.core.restored import cut_off, looks, replaced, still_there
from millrace.kafka.core.record_time import EARLIEST, LATEST

P0, P1, P2 = ("t", 0), ("t", 1), ("u", 0)
NOON_MS = 1_763_467_200_123


def test_a_partition_that_ends_before_what_was_read_is_cut_off() -> None:
    bounds = {P0: HeldOffsets(0, 9), P1: HeldOffsets(0, 10), P2: HeldOffsets(3, 4)}
    assert cut_off({P0: 10, P1: 10}, bounds) == {P0}


def test_another_record_where_one_was_read_tells_and_a_gap_does_not() -> None:
    read = {P0: (9, NOON_MS), P1: (9, NOON_MS), P2: (9, NOON_MS)}
    bounds = {P0: HeldOffsets(0, 12), P1: HeldOffsets(9, 10), P2: HeldOffsets(0, 9)}
    assert still_there(read, bounds) == {P0: 9, P1: 9}
    # The record of P1 was compacted away, and the next is of another time.
    assert replaced(read, {P0: (9, NOON_MS + 1), P1: (10, NOON_MS + 1)}) == {P0}
    assert replaced(read, {P0: (9, NOON_MS)}) == set()


@pytest.mark.parametrize("time_ms", [2**62, -(2**62), 0])
def test_a_time_that_the_table_keeps_as_its_bound_is_the_same_at_the_broker(time_ms: int) -> None:
    bound_ms = int((LATEST if time_ms > 0 else EARLIEST).timestamp() * 1000)
    assert replaced({P0: (9, bound_ms)}, {P0: (9, time_ms)}) == set()
    assert replaced({P0: (9, NOON_MS)}, {P0: (9, time_ms)}) == {P0}


@pytest.mark.generated
@given(st.integers(0, 10**12), st.integers(0, 10**12))
def test_looks_go_back_to_the_oldest_record_in_few_steps(low: int, length: int) -> None:
    begins = list(looks(low, low + length))
    assert begins == sorted(begins, reverse=True)
    assert (begins[-1] == low) if length else not begins
    assert len(begins) <= 11
