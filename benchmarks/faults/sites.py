"""Sites of one pipeline: what is wrong at one of them stays there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchmarks.faults.stands.fault import Fault, Outcome, whole_fault
from benchmarks.faults.stands.verified import words
from benchmarks.neighbours import ANEW, FENCED, FEW, GONE, Neighbours, measure
from millrace.base.ranges import count
from millrace.repair.core.alarms import AlarmKind

if TYPE_CHECKING:
    from benchmarks.faults.stands.stand import Arena

_WAITING = 1_000_000


@whole_fault(
    "one-site-of-several",
    "a job of five sites, from broker to silver, two of which send all the time; beneath it one"
    f" loses {GONE} of {FEW} records before they were read, one's topic is deleted and made again,"
    f" and one comes back with {_WAITING:,} messages",
)
def one_site_of_several(arena: Arena, asked: Fault) -> Outcome:
    found = measure(arena.shared, _WAITING)
    return Outcome(
        asked.name,
        asked.how,
        sent=found.sent,
        count=found.count,
        destroyed=GONE,
        recovery_s=found.behind_for_s,
        seen=(
            *(f"{site} halted: {reason[:60]}..." for site, reason in found.halts.items()),
            *(f"topic made anew: {topic}" for topic in found.made_anew),
            *words(found.verified),
            _freshness(found),
        ),
        problem="; ".join(_problems(found)),
    )


def _problems(found: Neighbours) -> Iterator[str]:
    """What is not told, or not as it is."""
    if [*found.halts] != [FENCED]:
        yield f"halted are {[*found.halts]}"
    if found.made_anew != (ANEW,):
        yield f"told as made anew are {found.made_anew}"
    lost = [
        one for one in found.verified.alarms if one.kind == AlarmKind.LOST and FENCED in one.subject
    ]
    named = sum(count(one.ranges) for one in lost)
    if named != GONE or len(lost) != len(found.verified.alarms):
        yield f"verify names {named} lost records of {GONE}"


def _freshness(found: Neighbours) -> str:
    usual, beside = found.usual, found.beside
    return (
        f"the two: p50/p99 {usual.p50_ms:.0f}/{usual.p99_ms:.0f} ms before,"
        f" {beside.p50_ms:.0f}/{beside.p99_ms:.0f} ms beside it"
    )
