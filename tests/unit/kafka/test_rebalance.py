"""Moves that give every broker its share, and no more moves than that takes."""

from __future__ import annotations

from collections import Counter

import pytest

from millrace.kafka.core.rebalance import MovedPartition, plan_moves


def held(*replicas: tuple[int, ...]) -> dict[MovedPartition, tuple[int, ...]]:
    return {MovedPartition("t", number): ones for number, ones in enumerate(replicas)}


THREE = held(*[(1 + n % 3, 1 + (n + 1) % 3, 1 + (n + 2) % 3) for n in range(8)])


def load(planned: dict[MovedPartition, tuple[int, ...]]) -> list[int]:
    counted = Counter(broker for replicas in planned.values() for broker in replicas)
    return [counted[broker] for broker in sorted(counted)]


def test_a_new_broker_gets_its_share_and_nothing_moves_between_the_old():
    moves = plan_moves(THREE, [1, 2, 3, 4])
    after = THREE | moves
    assert load(after) == [6, 6, 6, 6]
    came = [set(after[place]) - set(THREE[place]) for place in THREE]
    assert sum(map(len, came)) == 6
    assert all(one <= {4} for one in came)


def test_a_broker_that_goes_keeps_nothing():
    after = held((1, 2), (2, 3), (3, 1), (1, 3)) | plan_moves(
        held((1, 2), (2, 3), (3, 1), (1, 3)), [1, 2]
    )
    assert load(after) == [4, 4]
    assert all(len(set(replicas)) == 2 for replicas in after.values())


@pytest.mark.parametrize(
    "even", [THREE, held((1,), (2,), (3,)), held()], ids=["three", "single copies", "nothing"]
)
def test_what_is_shared_evenly_stays(even):
    assert plan_moves(even, [1, 2, 3]) == {}


def test_leaders_are_shared_by_order_alone():
    uneven = held((1, 2, 3), (1, 2, 3), (1, 2, 3))
    after = uneven | plan_moves(uneven, [1, 2, 3])
    assert {replicas[0] for replicas in after.values()} == {1, 2, 3}
    assert all(set(replicas) == {1, 2, 3} for replicas in after.values())


def test_no_partition_is_twice_on_a_broker():
    after = THREE | plan_moves(THREE, [1, 2, 3, 4, 5])
    assert all(len(set(replicas)) == 3 for replicas in after.values())
    assert max(load(after)) - min(load(after)) <= 1


def test_a_broker_that_holds_what_cannot_go_elsewhere_keeps_it():
    assert plan_moves(held((1, 2)), [1]) == {}
