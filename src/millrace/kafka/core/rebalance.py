"""Which replicas to move so that every broker has its share: as few as can be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple


class MovedPartition(NamedTuple):
    topic: str
    partition: int


# The brokers that hold a partition; the first of them should lead it.
Replicas = tuple[int, ...]


def plan_moves(
    held: Mapping[MovedPartition, Replicas], brokers: Iterable[int]
) -> dict[MovedPartition, Replicas]:
    """What differs from `held` when `brokers`, and no others, share all of it."""
    wanted = sorted(brokers)
    planned = dict(held)
    while move := _next_move(planned, wanted):
        place, source, destination = move
        planned[place] = tuple(
            destination if broker == source else broker for broker in planned[place]
        )
    _share_leaders(planned, wanted)
    return {place: replicas for place, replicas in planned.items() if replicas != held[place]}


def _next_move(
    held: Mapping[MovedPartition, Replicas], brokers: list[int]
) -> tuple[MovedPartition, int, int] | None:
    """From a broker that has too much, or should have nothing, to the one with the least."""
    load = Counter(dict.fromkeys(brokers, 0))
    load.update(broker for replicas in held.values() for broker in replicas)
    for source in sorted(load, key=lambda one: (one in brokers, -load[one], one)):
        for destination in sorted(brokers, key=lambda one: (load[one], one)):
            must_go = source not in brokers and load[source] > 0
            if not (must_go or load[source] - load[destination] > 1):
                break
            for place, replicas in sorted(held.items()):
                if source in replicas and destination not in replicas:
                    return place, source, destination
    return None


def _share_leaders(held: dict[MovedPartition, Replicas], brokers: list[int]) -> None:
    """By order alone: whoever holds a partition already may lead it, and no byte is moved."""
    while swap := _next_swap(held, brokers):
        place, leader = swap
        others = tuple(broker for broker in held[place] if broker != leader)
        held[place] = (leader, *others)


def _next_swap(
    held: Mapping[MovedPartition, Replicas], brokers: list[int]
) -> tuple[MovedPartition, int] | None:
    leads = Counter(dict.fromkeys(brokers, 0))
    leads.update(replicas[0] for replicas in held.values())
    for place, replicas in sorted(held.items()):
        for other in sorted(replicas[1:], key=lambda one: (leads[one], one)):
            if leads[replicas[0]] - leads[other] > 1:
                return place, other
    return None
