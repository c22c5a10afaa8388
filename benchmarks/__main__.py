"""All benchmarks, and the page of their results: python -m benchmarks [--full]."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from benchmarks import latency, relay
from benchmarks.latency import Latency
from benchmarks.stands import page, relay_page
from benchmarks.stands.arena import CHECKOUT, Arena, open_arena
from benchmarks.stands.measure import Result
from benchmarks.throughput import Throughput

CORES = {0, 1}
RELAY_RATE = 1_000


@dataclass(frozen=True)
class Size:
    rows: int
    # What everybody warms up with before it counts: so many rows more, or so many seconds.
    warm_rows: int
    warm_s: int
    for_s: int
    # Turns that everybody gets, because the machine is not ours alone.
    rounds: int


# A batch of ours holds 2 million rows, so nothing less shows a rate.
QUICK, FULL = Size(2_000_000, 2_000_000, 30, 20, 1), Size(2_000_000, 4_000_000, 60, 40, 2)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--full", action="store_true", help="longer warm-ups, two turns; writes the page"
    )
    parser.add_argument("--only", default="", help="those whose names hold this text")
    arguments = parser.parse_args()
    size = FULL if arguments.full else QUICK
    os.sched_setaffinity(0, CORES & os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(prefix="millrace-bench-") as folder:
        with open_arena(Path(folder)) as arena:
            results, limits = race(arena, size, arguments.only)
        with (
            tempfile.TemporaryDirectory(prefix="millrace-bench-") as other,
            open_arena(Path(other)) as arena,
        ):
            latencies = delays(arena, size, arguments.only)
    hauls, waits = relay.measure(size.rows // 2, RELAY_RATE, size.for_s, arguments.only)
    parts = [
        page.render(size.rows, size.warm_rows, results, limits, latencies),
        relay_page.render(hauls, waits),
    ]
    text = "\n".join(filter(None, parts))
    if arguments.full and not arguments.only:
        (CHECKOUT / "docs" / "benchmarks.md").write_text(text)
    sys.stdout.write(text)


def race(arena: Arena, size: Size, only: str) -> tuple[list[Result], dict[str, float]]:
    ring = Throughput(arena, size.rows + size.warm_rows, size.warm_rows)
    say(f"{ring.rows} messages into the topic")
    arena.fill(ring.rows)
    contestants: dict[str, Callable[[str], Result]] = {
        "bronze-millrace": lambda name: ring.ours(name, silver=False),
        "bronze-delta-rs-1": lambda name: ring.delta_rs(name, 1, silver=False),
        "bronze-delta-rs-2": lambda name: ring.delta_rs(name, 2, silver=False),
        "bronze-spark-docs": lambda name: ring.spark_docs(name, silver=False),
        "silver-millrace": lambda name: ring.ours(name, silver=True),
        "silver-two-hops": lambda name: ring.ours(
            name, silver=True, module="benchmarks.contestants.two_hops"
        ),
        "silver-delta-rs-1": lambda name: ring.delta_rs(name, 1, silver=True),
        "silver-delta-rs-2": lambda name: ring.delta_rs(name, 2, silver=True),
        "silver-spark-docs": lambda name: ring.spark_docs(name, silver=True),
    }
    results = []
    for turn, (name, run) in product(range(size.rounds), contestants.items()):
        if only in name:
            results.append(replace(run(f"{name}-{turn}"), name=name))
            say(str(results[-1]))
    return results, ring.limits() if only in "limits" else {}


def delays(arena: Arena, size: Size, only: str) -> list[Latency]:
    found: list[Latency] = []
    for name, trigger_s, silver in [
        ("latency-bronze", 0.5, False),
        ("latency-silver", 0.5, True),
    ]:
        if only in name:
            found += latency.measure(
                arena, name, trigger_s, silver=silver, warm_s=size.warm_s, for_s=size.for_s
            )
            say(str(found[-1]))
    return found


def say(text: str) -> None:
    sys.stderr.write(text + "\n")


if __name__ == "__main__":
    main()
