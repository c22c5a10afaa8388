"""Many sites that send little, brought by one process: python -m benchmarks.relay_sites.

The sites are one source that is read under many names, so what a reader costs it is the same for
everybody. One broker on each side.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.contestants.mirror_maker import MirrorMaker
from benchmarks.relay import RELAY, TOPIC, Arrivals, Pair, Tide, open_pair, say, send
from benchmarks.throughput import running, until


@dataclass(frozen=True)
class Crowd:
    name: str
    sites: int
    rate: int
    # From the start of the process until all topics are there and up to date.
    ready_s: float
    p50_ms: float
    p99_ms: float
    cores: float
    brokers_cores: float
    peak_mb: float


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.relay_sites", description=__doc__)
    parser.add_argument("--sites", type=int, default=20)
    parser.add_argument("--rate", type=int, default=50, help="records a second of each site")
    parser.add_argument("--seconds", type=int, default=30)
    asked = parser.parse_args(arguments)
    os.sched_setaffinity(0, {0, 1} & os.sched_getaffinity(0))
    names = tuple(f"s{number:03}" for number in range(asked.sites))
    spec = RELAY.model_copy(update={"sites": names})
    with open_pair(brokers=1, spec=spec) as pair:
        folder = pair.source.layout.var
        ours = [spec.target(name, TOPIC) for name in names]
        say(str(crowd("relay", pair.relay(folder), pair, ours, asked.rate, asked.seconds)))
        peer = MirrorMaker(tuple(f"m{name}" for name in names), is_tuned=True)
        command = pair.mirror_maker(folder, peer)
        theirs = crowd(
            "mirror-maker-2-tuned", command, pair, peer.topics, asked.rate, asked.seconds
        )
        say(str(theirs))


def crowd(
    name: str, command: list[str], pair: Pair, topics: list[str], rate: int, for_s: int
) -> Crowd:
    log = Path(pair.source.layout.var) / f"{name}-sites.log"
    tides = [Tide(pair.target, topic) for topic in topics]
    sent = _sent_before(pair)
    with running([command], log) as (started, meter):

        def is_ready() -> bool:
            nonlocal sent
            if meter.is_over():
                raise RuntimeError(f"{name} ended early:\n{log.read_text()[-3000:]}")
            send(pair.source, rate, 1, b"warm")
            sent += rate
            return all(tide.look() >= sent for tide in tides)

        until(is_ready, f"{name} does not bring all sites")
        ready_s = time.time() - started
        here, there = Arrivals(pair.source, TOPIC), Arrivals(pair.target, topics[-1])
        with here.noted(), there.noted():
            time.sleep(1)
            begin = time.time()
            tides[0].look()
            brokers_s = tides[0].brokers_s[-1]
            send(pair.source, rate, for_s, b"row")
            rows = rate * for_s
            until(lambda: _rows(there) >= rows, f"{name} brought not all", poll_s=0.2)
            took_s = time.time() - begin
            tides[0].look()
            cores = meter.cpu_between(begin, begin + took_s) / took_s
    waits = sorted(1000 * (there.at[row] - here.at[row]) for row in there.at if row in here.at)
    return Crowd(
        name=name,
        sites=len(topics),
        rate=rate,
        ready_s=ready_s,
        p50_ms=statistics.median(waits),
        p99_ms=waits[int(len(waits) * 0.99)],
        cores=cores,
        brokers_cores=(tides[0].brokers_s[-1] - brokers_s) / took_s,
        peak_mb=meter.peak_mb,
    )


def _rows(arrivals: Arrivals) -> int:
    return sum(row.startswith(b"row") for row in list(arrivals.at))


def _sent_before(pair: Pair) -> int:
    return Tide(pair.source, TOPIC).look()


if __name__ == "__main__":
    main(sys.argv[1:])
