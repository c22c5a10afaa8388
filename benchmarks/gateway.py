"""What a gateway takes, how soon it is read, what it holds: python -m benchmarks.gateway [NAME...].

Runs in the control environment. A broker, a gateway and the load share this machine.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

from benchmarks.contestants import mosquitto
from benchmarks.stands.arena import CHECKOUT, Arena, open_arena
from benchmarks.stands.gateway_load import (
    Heard,
    follow,
    hold_connections,
    listen,
    publish_paced,
    receive,
    send_paced,
)
from millrace.gateway.bundle.io.local_gateway import prepare_gateway
from millrace.latency_benchmark.io.message_runners import Way
from millrace.pipelines.core.spec import PipelineSpec
from millrace.provisioning.core.site_rights import wanted_for_site
from millrace.provisioning.io.site_admin import provision_as_admin
from millrace.secrets.io.device_certificates import issue
from tests.support import free_ports, start, wait_until

SIZE, TOPIC, EVENTS, PARTITIONS = 200, "lines", "line-events", 2
RULE = {
    "name": "hot",
    "sensor": "$.id",
    "value": "$.value",
    "time": "$.at",
    "above": 80,
    "hysteresis": 5,
    "topic": EVENTS,
}
# A message is so old at most when it comes: nothing waits any more.
_IS_CAUGHT_UP_S = 0.5
# Connections are made, caches filled, a broker's code compiled: what is sent in this time is not
# counted, and what follows without a pause is.
_SETTLES_S, _MEASURED_S = 5, 30
_CONNECTS_S = 4
_LISTENS_S = _CONNECTS_S + _SETTLES_S + _MEASURED_S + 3
_SENDERS = 2
Row = tuple[str, str]
Load = Callable[[Way, str, float, float, int], list[float]]


@dataclass
class Bench:
    arena: Arena
    way: Way
    gateway: psutil.Process
    pool: ProcessPoolExecutor
    webhook_port: int
    outage_s: int

    def consumer(self) -> dict[str, Any]:
        return self.arena.client("app")

    def paced(
        self, rate: float, seconds: float, load: Load = send_paced, way: Way | None = None
    ) -> tuple[float, list[float]]:
        """The rate that was answered, and the waits for answers in ms."""
        found = [job.result() for job in self.send(rate, seconds, load, way)]
        return sum(one[0] for one in found), [wait for one in found for wait in one[1:]]

    def send(
        self, rate: float, seconds: float, load: Load = send_paced, way: Way | None = None
    ) -> list[Future[list[float]]]:
        name, way = f"s{time.monotonic_ns()}", way or self.way
        return [
            self.pool.submit(load, way, f"{name}-{n}", rate / _SENDERS, seconds, SIZE)
            for n in range(_SENDERS)
        ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gateway", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(MEASURES)}; none: all of them")
    parser.add_argument("--full", action="store_true", help="an outage of ten minutes, not of one")
    asked = parser.parse_args()
    table = Table("what", "figure")
    for name in asked.names or MEASURES:
        with open_bench(600 if asked.full else 60, with_rules=name == "rule") as bench:
            for row in MEASURES[name](bench):
                table.add_row(*row)
    Console().print(table)


@contextmanager
def open_bench(outage_s: int, *, with_rules: bool) -> Iterator[Bench]:
    with tempfile.TemporaryDirectory(prefix="millrace-gateway-") as folder:
        home = Path(folder)
        (home / ".venv").symlink_to(CHECKOUT / ".venv")
        with open_arena(home) as arena:
            _provision(arena)
            port = free_ports(2)
            webhook = home / "webhook.txt"
            webhook.touch(0o600)
            webhook.write_text(f"http://127.0.0.1:{port + 1}/")
            lines = {
                "name": "lines",
                "kind": "tcp",
                "listen": f"127.0.0.1:{port}",
                "acknowledge": True,
                "names": "any",
                "topic": TOPIC,
                "key": {"field": "$.id"},
                "rules": [{**RULE, "webhook": str(webhook)}] if with_rules else [],
            }
            values = {"site": arena.site.name, "data": "data", "inputs": [lines]}
            program = prepare_gateway(arena.layout, arena.site, values)
            process = start(program)
            wait_until(lambda: "is ready" in program.log.read_text(), 30)
            device = issue(arena.layout, arena.site.name, "load")
            way = Way("localhost", port, str(arena.layout.ca), str(device))
            try:
                with ProcessPoolExecutor(4, get_context("spawn")) as pool:
                    yield Bench(arena, way, psutil.Process(process.pid), pool, port + 1, outage_s)
            finally:
                process.terminate()
                process.wait(30)


def _provision(arena: Arena) -> None:
    pipeline = PipelineSpec(
        name="lines",
        sites="all",
        topics=(TOPIC, EVENTS),
        format="json",
        table="lines",
        partitions=PARTITIONS,
    )
    provision_as_admin(arena.layout, arena.site, wanted_for_site(arena.site, [pipeline]))


def intake(bench: Bench) -> Iterator[Row]:
    bench.paced(20_000, 3)
    cpu_s = _cpu(bench.gateway)
    rate, waits = bench.paced(50_000, 10)
    yield "intake, durable, answered, 50,000/s offered", f"{rate:,.0f}/s"
    yield "  answer after, p50 / p99", f"{_at(waits, 50):.1f} / {_at(waits, 99):.1f} ms"
    yield "  gateway's CPU, delivery included", f"{(_cpu(bench.gateway) - cpu_s) / 10:.2f} cores"
    yield from _mosquitto(bench, 1)
    yield from _mosquitto(bench, 1_800)
    yield "  write and sync of 200 B, one by one", f"{_synced(1):,.0f}/s"
    yield "  the same, 100 at once", f"{_synced(100):,.0f}/s"


def _mosquitto(bench: Bench, save_every_s: int) -> Iterator[Row]:
    """The same load, for a subscriber that is away; then a kill, and what it has of it."""
    name = f"beside it, mosquitto that saves every {save_every_s} s"
    if not mosquitto.PROGRAM:
        yield name, mosquitto.HOW_TO_GET_IT
        return
    folder = bench.arena.layout.var / f"mosquitto-{save_every_s}"
    with mosquitto.running(bench.arena.layout, folder, save_every_s) as peer:
        peer.subscribe()
        process = psutil.Process(peer.process.pid) if peer.process else psutil.Process()
        rate, waits = bench.paced(50_000, 10, load=publish_paced, way=peer.way)
        cores = _cpu(process) / 10
        peer.stop(signal.SIGKILL)
        peer.start()
        lost = 500_000 - peer.count_kept()
    yield name, f"{rate:,.0f}/s"
    yield "  answer after, p50 / p99", _both(waits)
    yield "  its CPU, without delivery", f"{cores:.2f} cores"
    yield "  answered, and gone after kill -9", f"{lost:,}"


def latency(bench: Bench) -> Iterator[Row]:
    yield "device to consumer at 10,000/s, p50 / p99", _both(_ages(bench, TOPIC, "at"))


def rule(bench: Bench) -> Iterator[Row]:
    hearing = bench.pool.submit(listen, bench.webhook_port, "at_ms", _LISTENS_S)
    ages = _ages(bench, EVENTS, "at_ms")
    heard = _settled(hearing.result())
    yield "sample to event at 10,000/s, at a consumer, p50 / p99", _both(ages)
    yield "  at a webhook", _both(heard)
    yield "  events received, posted", f"{len(ages):,}, {len(heard):,}"


def connections(bench: Bench) -> Iterator[Row]:
    before = bench.gateway.memory_full_info().pss
    jobs = [bench.pool.submit(hold_connections, bench.way, n * 1_500, 1_500, 30) for n in range(2)]
    wait_until(lambda: _clients(bench) >= 3_000, 120, poll_s=0.5)
    each_kb = (bench.gateway.memory_full_info().pss - before) / 3_000 / 1024
    found = [job.result() for job in jobs]
    yield "3,000 TLS clients, connected within", f"{max(one[1] for one in found):.1f} s"
    yield "  answered in 30 s at one a second each", f"{sum(one[0] for one in found):,.0f}"
    yield "  clients that lost their connection", f"{sum(one[2] for one in found):.0f}"
    yield "  memory of the gateway for each", f"{each_kb:.0f} KB"


def drain(bench: Bench) -> Iterator[Row]:
    """The broker stands still while it fills, and goes on with its first answer; devices send all
    the time."""
    rate, before_s, outage_s = 5_000, 5, bench.outage_s
    seconds = before_s + outage_s + max(30, outage_s // 5)
    following = bench.pool.submit(
        follow, bench.consumer(), TOPIC, PARTITIONS, "at", rate * seconds, seconds + 120
    )
    time.sleep(_CONNECTS_S)  # and finds the ends of the topic
    sending = bench.send(rate, seconds)
    (broker,) = [one for one in psutil.Process().children() if "kafka.Kafka" in one.cmdline()]
    time.sleep(before_s)
    broker.suspend()
    try:
        time.sleep(outage_s)
    finally:
        broker.resume()
    back_s = time.time()
    for job in sending:
        job.result()
    seen = following.result()
    old = max(count for count, _, at in seen if at < back_s)
    new = [(count, sent, at) for count, sent, at in seen if sent > back_s]
    caught_up = next(one for one in new if one[2] - one[1] < _IS_CAUGHT_UP_S)
    drained = (caught_up[0] - old) / (caught_up[2] - back_s)
    later = [(at - sent) * 1000 for _, sent, at in new if sent > caught_up[1] + 5]
    yield f"filled at {rate:,}/s for {outage_s} s without a broker, drained at", f"{drained:,.0f}/s"
    yield "  times the rate of filling", f"{drained / rate:.1f}"
    yield "  received", f"{seen[-1][0]:,} of {rate * seconds:,}"
    yield "  what is sent when the broker is back, received after", f"{new[0][2] - new[0][1]:.1f} s"
    yield "  caught up with what is sent meanwhile, after", f"{caught_up[2] - back_s:.1f} s"
    yield "  device to consumer from 5 s later on, p50 / p99", _both(later)


def _ages(bench: Bench, topic: str, field: str) -> list[float]:
    job = bench.pool.submit(receive, bench.consumer(), topic, PARTITIONS, field, _LISTENS_S)
    time.sleep(_CONNECTS_S)  # and finds the ends of the topic
    bench.paced(10_000, _SETTLES_S + _MEASURED_S)
    return _settled(job.result())


def _settled(heard: list[Heard]) -> list[float]:
    begin_ms = heard[0][0] + _SETTLES_S * 1000
    return [age for made_ms, age in heard if made_ms >= begin_ms]


def _clients(bench: Bench) -> int:
    return sum(1 for one in bench.gateway.net_connections("tcp") if one.status == "ESTABLISHED")


def _synced(messages: int) -> float:
    """The limit: messages a second, so many of them in each write."""
    with tempfile.NamedTemporaryFile() as file:
        os.posix_fallocate(file.fileno(), 0, 64 << 20)
        began_s, count, data = time.monotonic(), 0, b"x" * SIZE * messages
        while (time.monotonic() - began_s) < 2:
            os.pwrite(file.fileno(), data, count * len(data) % (32 << 20))
            os.fdatasync(file.fileno())
            count += 1
        return count * messages / (time.monotonic() - began_s)


def _cpu(process: psutil.Process) -> float:
    return float(sum(process.cpu_times()[:2]))


def _at(values: list[float], percent: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def _both(values: list[float]) -> str:
    return f"{_at(values, 50):.1f} / {_at(values, 99):.1f} ms"


MEASURES: dict[str, Callable[[Bench], Iterator[Row]]] = {
    "intake": intake,
    "latency": latency,
    "rule": rule,
    "connections": connections,
    "drain": drain,
}

if __name__ == "__main__":
    main()
