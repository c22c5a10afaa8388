"""Sites of one pipeline: what is wrong at one of them stays there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.faults.fault import Fault, Outcome, whole_fault
from benchmarks.neighbours import Neighbours, measure

if TYPE_CHECKING:
    from benchmarks.faults.stand import Arena

_WAITING = 1_000_000


@whole_fault(
    "one-site-of-several",
    "a job of four sites, from broker to silver: one lost records before they were read, at one"
    f" {_WAITING:,} messages wait, two send on",
)
def one_site_of_several(arena: Arena, asked: Fault) -> Outcome:
    found = measure(arena.shared, _WAITING)
    return Outcome(
        asked.name,
        asked.how,
        sent=found.sent,
        count=found.count,
        recovery_s=found.behind_for_s,
        seen=(f"halted: {found.halted[:60]}..." if found.halted else "no halt", _freshness(found)),
        problem="" if found.halted else "the site that lost records was not halted",
    )


def _freshness(found: Neighbours) -> str:
    usual, beside = found.usual, found.beside
    return (
        f"the two: p50/p99 {usual.p50_ms:.0f}/{usual.p99_ms:.0f} ms before,"
        f" {beside.p50_ms:.0f}/{beside.p99_ms:.0f} ms beside it"
    )
