"""A broker that came back to an older state is seen, where anything of it can be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.ingest.core.lag import Bounds
from millrace.ingest.core.restored import cut_off, looks, replaced, still_there

P0, P1, P2 = ("t", 0), ("t", 1), ("u", 0)


def test_a_partition_that_ends_before_what_was_read_is_cut_off() -> None:
    bounds = {P0: Bounds(0, 9), P1: Bounds(0, 10), P2: Bounds(3, 4)}
    assert cut_off({P0: 10, P1: 10}, bounds) == {P0}


def test_another_record_where_one_was_read_tells_and_a_gap_does_not() -> None:
    read = {P0: (9, 1_000), P1: (9, 1_000), P2: (9, 1_000)}
    bounds = {P0: Bounds(0, 12), P1: Bounds(9, 10), P2: Bounds(0, 9)}
    assert still_there(read, bounds) == {P0: 9, P1: 9}
    # The record of P1 was compacted away, and the next is of another time.
    assert replaced(read, {P0: (9, 2_000), P1: (10, 2_000)}) == {P0}
    assert replaced(read, {P0: (9, 1_000)}) == set()


@pytest.mark.generated
@given(st.integers(0, 10**12), st.integers(0, 10**12))
def test_looks_go_back_to_the_oldest_record_in_few_steps(low: int, length: int) -> None:
    begins = list(looks(low, low + length))
    assert begins == sorted(begins, reverse=True)
    assert (begins[-1] == low) if length else not begins
    assert len(begins) <= 11
