"""What a gateway takes, how soon it is read, what it holds: python -m benchmarks.gateway [NAME...].

Runs in the control environment. A broker, a gateway and the load share this machine.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka import Consumer, TopicPartition
from rich.console import Console
from rich.table import Table

from benchmarks.arena import CHECKOUT, Arena, open_arena
from benchmarks.gateway_load import hold_connections, listen, receive, send_paced
from millrace.core.gateway.local import DEVICE
from millrace.core.pipeline import PipelineSpec
from millrace.core.provision import wanted_for_site
from millrace.edge.race_parts import Way
from millrace.local.gateway import prepare_gateway
from millrace.local.provision import provision_as_admin
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
Row = tuple[str, str]


@dataclass
class Bench:
    arena: Arena
    way: Way
    gateway: psutil.Process
    pool: ProcessPoolExecutor
    webhook_port: int

    def consumer(self) -> dict[str, Any]:
        return self.arena.client("app")

    def paced(self, rate: float, seconds: float, senders: int = 2) -> tuple[float, list[float]]:
        """The rate that was answered, and the waits for answers in ms."""
        name = f"s{time.monotonic_ns()}"
        jobs = [
            self.pool.submit(send_paced, self.way, f"{name}-{n}", rate / senders, seconds, SIZE)
            for n in range(senders)
        ]
        found = [job.result() for job in jobs]
        return sum(one[0] for one in found), [wait for one in found for wait in one[1:]]


def main() -> None:
    wanted = sys.argv[1:] or list(MEASURES)
    table = Table("what", "figure")
    for name in wanted:
        with open_bench(with_rules=name == "rule") as bench:
            for row in MEASURES[name](bench):
                table.add_row(*row)
    Console().print(table)


@contextmanager
def open_bench(*, with_rules: bool) -> Iterator[Bench]:
    with tempfile.TemporaryDirectory(prefix="millrace-gateway-") as folder:
        home = Path(folder)
        (home / ".venv").symlink_to(CHECKOUT / ".venv")
        with open_arena(home) as arena:
            _provision(arena)
            port = free_ports(2)
            webhook = home / "webhook.txt"
            webhook.write_text(f"http://127.0.0.1:{port + 1}/")
            lines = {
                "name": "lines",
                "kind": "tcp",
                "listen": f"127.0.0.1:{port}",
                "acknowledge": True,
                "topic": TOPIC,
                "key": {"field": "$.id"},
                "rules": [{**RULE, "webhook": str(webhook)}] if with_rules else [],
            }
            values = {"site": arena.site.name, "data": "data", "inputs": [lines]}
            program = prepare_gateway(arena.layout, arena.site, values)
            process = start(program)
            wait_until(lambda: "is ready" in program.log.read_text(), 30)
            device = arena.layout.certificate(arena.site.name, DEVICE)
            way = Way("localhost", port, str(arena.layout.ca), str(device))
            try:
                with ProcessPoolExecutor(4, get_context("spawn")) as pool:
                    yield Bench(arena, way, psutil.Process(process.pid), pool, port + 1)
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
    yield "  write and sync of 200 B, one by one", f"{_synced(1):,.0f}/s"
    yield "  the same, 100 at once", f"{_synced(100):,.0f}/s"


def latency(bench: Bench) -> Iterator[Row]:
    ages = _ages(bench, TOPIC, "at")
    yield "device to consumer at 10,000/s, p50 / p99", _both(ages)


def rule(bench: Bench) -> Iterator[Row]:
    hearing = bench.pool.submit(listen, bench.webhook_port, "at_ms", 22)
    ages = _ages(bench, EVENTS, "at_ms")
    heard = hearing.result()
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
    """The broker stands still while it fills, and goes on with its first answer."""
    rate, seconds = 5_000, 60
    bench.paced(rate, 3)
    before = _at_broker(bench)
    (broker,) = [one for one in psutil.Process().children() if "kafka.Kafka" in one.cmdline()]
    broker.suspend()
    try:
        bench.paced(rate, seconds)
    finally:
        broker.resume()
    began_s = time.monotonic()
    wait_until(lambda: _at_broker(bench) - before >= rate * seconds, 120)
    drained = rate * seconds / (time.monotonic() - began_s)
    yield f"filled at {rate:,}/s for {seconds} s without a broker, drained at", f"{drained:,.0f}/s"
    yield "  times the rate of filling", f"{drained / rate:.1f}"


def _at_broker(bench: Bench) -> int:
    consumer = Consumer({**bench.consumer(), "group.id": "app-bench"})
    try:
        parts = [TopicPartition(TOPIC, number) for number in range(PARTITIONS)]
        return sum(consumer.get_watermark_offsets(part, timeout=60)[1] for part in parts)
    finally:
        consumer.close()


def _ages(bench: Bench, topic: str, field: str) -> list[float]:
    bench.paced(10_000, 5)
    job = bench.pool.submit(receive, bench.consumer(), topic, PARTITIONS, field, 18)
    time.sleep(4)  # it connects, and finds the ends of the topic
    bench.paced(10_000, 10)
    return job.result()


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
