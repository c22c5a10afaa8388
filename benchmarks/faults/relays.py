"""A relay that is killed in each step of its transaction, and a centre that is lost."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from benchmarks.faults.stands.fault import Fault, Outcome, whole_fault
from benchmarks.faults.stands.tally import Count
from millrace.relay.core.spec import RelaySpec
from tests.integration.stands.edge.relay_child import STEPS
from tests.integration.stands.edge.relays import Load, Record, RelayBed, read_all
from tests.support import wait_until

if TYPE_CHECKING:
    from benchmarks.faults.stands.stand import Arena

_RATE = 2_000
# What comes within a second.
_FRESH_RECORDS = _RATE
Records = Mapping[int, list[Record]]
Break = Callable[[RelayBed], None]


def _measure(arena: Arena, asked: Fault, break_it: Break) -> Outcome:
    site, centre = arena.shared, arena.centre
    site.add_topic(asked.name, 3)
    folder = site.layout.home / "relays" / asked.name
    folder.mkdir(parents=True)
    spec = RelaySpec(name=asked.name, sites=("plant-f",), topics=(asked.name,), to="centre")
    bed = RelayBed(spec, (site,), centre, folder)
    bed.provision()
    troubles: dict[str, None] = {}
    with Load(site, asked.name, _RATE):
        break_it(bed)
        with bed.supervised():
            recovery_s = _until_fresh(bed, time.monotonic(), troubles)
    with bed.supervised():
        bed.await_all(asked.name, 90)
    sent = read_all(site.settings("app"), asked.name)
    return Outcome(
        asked.name,
        asked.how,
        sent=sum(map(len, sent.values())),
        count=judge(sent, bed.brought(asked.name)),
        recovery_s=recovery_s,
        seen=tuple(troubles),
    )


def judge(sent: Records, brought: Records) -> Count:
    """By the offsets at the source, which each record carries; a changed one counts as lost."""
    lost = doubled = disordered = 0
    for part, records in sent.items():
        there = brought.get(part, [])
        offsets = [one.offset for one in there]
        by_offset = {one.offset: one for one in there}
        lost += sum(by_offset.get(one.offset) != one for one in records)
        doubled += len(offsets) - len(by_offset)
        disordered += sum(later < before for before, later in pairwise(offsets))
    return Count(lost, doubled, disordered)


def _until_fresh(bed: RelayBed, ended_s: float, troubles: dict[str, None]) -> float:
    """Until what waits at the site is less than a second of its load."""

    def is_fresh() -> bool:
        beat = bed.beat
        if beat is None:
            return False
        troubles.update(dict.fromkeys(beat.notes()))
        return beat.messages > 0 and not beat.trouble and beat.lag_records < _FRESH_RECORDS

    wait_until(is_fresh, 120, "nearly all brought")
    return time.monotonic() - ended_s


def _die_in_each_step(bed: RelayBed) -> None:
    for step in STEPS:
        bed.start(step, after_ms=4)
        ended = bed.await_end()
        if ended != -signal.SIGKILL:
            raise AssertionError(f"{step}: the relay ended by {ended}, not by itself")
    bed.beat_file.unlink()


def _lose_centre(bed: RelayBed) -> None:
    bed.start()
    bed.await_messages(_RATE)
    bed.target.stop(signal.SIGKILL)
    time.sleep(5)
    bed.beat_file.unlink()
    bed.target.start()


@whole_fault("relay-killed", f"`kill -9` of the relay in each step of its transaction"
             f" ({', '.join(STEPS)})")  # fmt: skip
def relay_killed(arena: Arena, asked: Fault) -> Outcome:
    return _measure(arena, asked, _die_in_each_step)


@whole_fault("centre-lost", "`kill -9` of the broker that a relay brings to; started again 5 s"
             " later")  # fmt: skip
def centre_lost(arena: Arena, asked: Fault) -> Outcome:
    return _measure(arena, asked, _lose_centre)
