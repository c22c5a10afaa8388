"""Lives from consecutive seeds, as many as there is time for: `make fuzz` does it.

python -m tests.unit.gateway.world.years SEED SECONDS
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, dataclass
from itertools import count
from operator import add
from os import cpu_count

from tests.unit.gateway.world import laws
from tests.unit.gateway.world.lives import Life, bounds_of

_STEPS_LEAST, _STEPS_SPAN = 5, 36
_YEAR_S = 365.25 * 86_400


@dataclass(frozen=True)
class Kind:
    events: tuple[str, ...]
    laws: tuple[laws.Law, ...]


_RESTORED = ("back_up", "restore", "restore", "reboot", "restart_devices")
KINDS = {
    "outages": Kind(("restart_devices",), (*laws.ONCE, laws.nothing_is_read_in_vain)),
    "full spools": Kind(("drop", "reboot"), laws.ONCE),
    "topics made anew": Kind(
        ("make_anew", "drop"), (*laws.ONCE, laws.new_topics_have_what_was_not_done)
    ),
    # Of a broker that forgets, and then has more than before, nobody can know what it forgot.
    "brokers that forget": Kind(("forget", "make_anew", "reboot"), laws.NAMED),
    # The hole that docs/adr/0018-gateway.md names.
    "late requests": Kind(("arrive_late", "drop"), laws.NAMED),
    "restored folders": Kind((*_RESTORED, "wipe"), laws.ONCE),
    "restored folders and topics made anew": Kind((*_RESTORED, "make_anew", "drop"), laws.ONCE),
    # Two that live at once have no order between them.
    "clones": Kind(("clone", *_RESTORED), (*laws.NAMED, laws.nothing_is_doubled)),
}


@dataclass
class Tally:
    lives: int = 0
    steps: int = 0
    outages: int = 0
    restored: int = 0
    messages: int = 0
    seconds: float = 0.0

    def add(self, life: Life, steps: int) -> None:
        self.lives += 1
        self.steps += steps
        self.outages += life.outages
        self.restored += life.restored
        self.messages += len(life.truth.kept)
        self.seconds += life.now_s

    def __add__(self, other: Tally) -> Tally:
        return Tally(*map(add, astuple(self), astuple(other)))


def live(kind: Kind, seed: int, steps: int) -> Life:
    with bounds_of(seed, glances=bool(set(kind.events) & {"restore"})):
        life = Life(seed, kind.events)
        try:
            life.go(steps)
            for law in kind.laws:
                law(life)
        except AssertionError as error:
            error.add_note(f"after {', '.join(life.happened)}")
            raise
    return life


def steps_of(seed: int) -> int:
    """Short lives are many, and break most laws that break."""
    return _STEPS_LEAST + (seed * 7919 >> 3) % _STEPS_SPAN


def try_out(name: str, seed: int) -> tuple[Life, int]:
    """One life; where it breaks a law, the shortest of this seed that does is told."""
    kind, steps = KINDS[name], steps_of(seed)
    try:
        return live(kind, seed, steps), steps
    except AssertionError as error:
        fewer, broken = _shortest(kind, seed, steps) or (steps, error)
        broken.add_note(f"live(KINDS[{name!r}], seed={seed}, steps={fewer}) shows it")
        raise broken from None


def _shortest(kind: Kind, seed: int, steps: int) -> tuple[int, AssertionError] | None:
    for fewer in range(steps):
        try:
            live(kind, seed, fewer)
        except AssertionError as error:
            return fewer, error
    return None


def lives(names: list[str], seeds: Iterator[int], ends_at: float | None = None) -> Tally:
    logging.disable(logging.CRITICAL)
    tally = Tally()
    try:
        for seed in seeds:
            tally.add(*try_out(names[seed % len(names)], seed))
            if ends_at is not None and time.monotonic() > ends_at:
                break
    finally:
        logging.disable(logging.NOTSET)
    return tally


def _of_one_core(first: int, stride: int, seconds: float) -> Tally:
    return lives(list(KINDS), count(first, stride), time.monotonic() + seconds)


def main(seed: int, seconds: float) -> None:
    cores = cpu_count() or 1
    # A stride that is prime to the number of kinds: each core has lives of all.
    stride = cores | 1
    with ProcessPoolExecutor(cores) as pool:
        each = [pool.submit(_of_one_core, seed + n, stride, seconds) for n in range(cores)]
        tally = sum((one.result() for one in each), Tally())
    print(  # noqa: T201 - what it is for
        f"gateway, {len(KINDS)} kinds of lives from seed {seed}: {tally.lives:,} lives,"
        f" {tally.lives / seconds:,.0f} a second on {cores} cores, of"
        f" {tally.steps / tally.lives:.0f} events and {tally.messages / tally.lives:.0f} messages"
        f" each; {tally.outages:,} outages, {tally.restored:,} restored folders,"
        f" {tally.seconds / _YEAR_S:,.0f} years of the model's time: no law broken"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
