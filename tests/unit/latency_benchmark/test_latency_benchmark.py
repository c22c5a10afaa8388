"""What a race comes to."""

from __future__ import annotations

import pytest

from millrace.latency_benchmark.core import Count, Lap, summary

LAP = Lap(
    rate=40_000, sent=100, received=100, doubled=0, disordered=0,
    first_sent_s=10.0, last_sent_s=12.5, first_received_s=10.1, last_received_s=12.7,
)  # fmt: skip


def counted(*messages: tuple[int, int]) -> Count:
    count = Count()
    for partition, number in messages:
        count.see(partition, number)
    return count


def test_numbers_grow_in_each_partition_by_itself():
    count = counted((0, 1), (1, 2), (0, 5), (1, 4))
    assert (count.received, count.doubled, count.disordered) == (4, 0, 0)


def test_what_comes_twice_is_doubled_and_what_comes_late_is_disordered():
    count = counted((0, 1), (0, 3), (0, 2), (0, 3))
    assert (count.received, count.doubled, count.disordered) == (4, 1, 1)


@pytest.mark.parametrize(
    ("change", "is_held"),
    [
        ({}, True),
        ({"last_received_s": 15.6}, False),
        ({"received": 99}, False),
        ({"received": 101, "doubled": 1}, False),
        ({"disordered": 1}, False),
    ],
)
def test_the_rate_is_held_when_all_of_it_comes_in_time(change, is_held):
    assert LAP.model_copy(update=change).is_held is is_held


def test_a_row_for_each_rate():
    slow = LAP.model_copy(update={"rate": 20_000, "last_received_s": 14.1})
    rows = summary([LAP, slow, slow])
    assert [(row["rate"], row["runs"]) for row in rows] == [(20_000, 2), (40_000, 1)]
    assert rows[0]["worst_s"] == pytest.approx(4.0)
    assert rows[1]["published_s"] == {"Kafka": 46.37, "Pulsar": 42.37}
