"""Memory of a gateway and of a relay that hold all they may: python -m benchmarks.bounds [NAME...].

Runs in the control environment, without a broker: what is to be delivered waits.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import ssl
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka import Consumer, Producer, TopicPartition
from rich.console import Console

from benchmarks.stands.arena import CHECKOUT
from millrace.gateway.bundle.io.local_gateway import prepare_gateway
from millrace.gateway.client.io.device import device_tls
from millrace.gateway.delivery.core.look_back import TopicView
from millrace.gateway.delivery.core.window import DeliveryProgress, Window
from millrace.gateway.delivery.io.courier import courier_of
from millrace.gateway.delivery.io.dead_letters import MOST_BYTES, DeadLetters
from millrace.gateway.delivery.io.forwarder import MOST_AHEAD, Forwarder
from millrace.gateway.delivery.io.link import Link
from millrace.gateway.spool.core.bounds import SpoolBounds
from millrace.gateway.spool.core.records import Draft, Record
from millrace.gateway.spool.io.disk import NoRoomError
from millrace.gateway.spool.io.spool_files import Spool
from millrace.platform.core.platform import Platform
from millrace.relay.core.positions import TopicIds
from millrace.relay.core.relay_plan import prefetch_kb
from millrace.relay.io.inbox import Inbox, RelayedBatch
from millrace.relay.io.site_reader import SETTINGS as READS
from millrace.relay.io.target import SETTINGS as WRITES
from millrace.secrets.io.device_certificates import issue
from millrace.secrets.io.pki import ensure_authority
from millrace.sites.core.spec import SiteSpec
from tests.support import free_ports, start, wait_until

NOBODY = "127.0.0.1:1"
SITE = SiteSpec(name="bounds", bootstrap=NOBODY)
BOUNDS = SpoolBounds(segment_bytes=64 << 20, total_bytes=192 << 20)
ORIGINS = 50_000
# Of clients that read no answers, and how long such a client tries to say more.
_DEAF, _DEAF_S = 8, 2.0
# Less than all inputs together may have begun, so that no connection is ended for it.
_BEGUN_BYTES = 60 << 20
# A broker that is played has four partitions of a topic, and keeps 5 MB of each.
_TOPICS, _PARTITIONS, _RECORDS = (10, 100), 4, 300_000
Row = tuple[str, str]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bounds", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(MEASURES)}; none: all of them")
    parser.add_argument("--connections", type=int, default=5_000, help="of the gateway's clients")
    asked = parser.parse_args()
    for name in asked.names or MEASURES:
        for row in MEASURES[name](asked.connections):
            Console(highlight=False).print(f"{row[0]:60}{row[1]:>10}")


# The gateway's process: what devices can make it hold.


def gateway(connections: int) -> Iterator[Row]:
    with _running_gateway(connections) as (process, home, port):
        started = _rss(process)
        yield "gateway: spool, 50,000 origins, dead letters full", _mb(started)
        yield "  the most of its start", _mb(_peak(process))
        layout = Platform(home)
        device = issue(layout, SITE.name, "load")
        with _clients(str(layout.ca), str(device), port, connections) as clients:
            clients.recv()
            full = _rss(process)
            yield f"  {connections:,} TLS clients, 60 MB begun: more", _mb(full - started)
            clients.recv()
            # What the first of them takes for a moment, the others take again.
            some = _rss(process)
            clients.recv()
            deaf = (_rss(process) - some) / _DEAF
            yield "  a client that reads no answers: more", f"{deaf / 1024:.0f} KB"
            yield f"  {connections:,} of these, by that figure", _mb(connections * deaf)
    for size in (200, 4_000):
        yield f"delivery: {size:,} B messages, unanswered", _mb(_alone(_unanswered, size))
    yield f"  one of {MOST_AHEAD:,} not done", _mb(_alone(_far_ahead))


@contextmanager
def _running_gateway(connections: int) -> Iterator[tuple[psutil.Process, Path, int]]:
    with tempfile.TemporaryDirectory(prefix="millrace-bounds-") as folder:
        home, port = Path(folder), free_ports(1)
        (home / ".venv").symlink_to(CHECKOUT / ".venv")
        layout = Platform(home)
        ensure_authority(layout)
        lines = {
            "name": "lines",
            "kind": "tcp",
            "listen": f"127.0.0.1:{port}",
            "acknowledge": True,
            "names": "any",
            "topic": "t",
            "patience": "10 minutes",
            "max_connections": connections + 2 * _DEAF,
            "at_bound": "refuse",
            "spool": {"size": "192 MB"},
        }
        values = {"site": SITE.name, "data": "data", "inputs": [lines]}
        program = prepare_gateway(layout, SITE, values)
        data = layout.gateway(SITE.name) / "data" / "lines"
        data.mkdir(parents=True)
        _fill(data)
        process = start(program)
        try:
            wait_until(lambda: "is ready" in program.log.read_text(), 120)
            yield psutil.Process(process.pid), home, port
        finally:
            process.terminate()
            process.wait(60)


def _fill(folder: Path) -> None:
    letters = DeadLetters(folder, MOST_BYTES, 0)
    filling = Draft(b"t", None, bytes(900))
    serial = 0
    while letters.write(
        [(Record(n, 0, n, 0, filling), "bound") for n in range(serial, serial + 500)]
    ):
        serial += 500
    spool = Spool(folder / "spool", BOUNDS)
    for first in range(0, ORIGINS, 500):
        names = range(first, first + 500)
        spool.keep([Draft(b"t", None, b"x", b"site/line/machine-%05d" % n, 1) for n in names])
    with suppress(NoRoomError):
        while True:
            spool.keep([Draft(b"t", None, bytes(200))] * 1_000)
    spool.close()


@contextmanager
def _clients(*where: Any) -> Iterator[Connection]:
    """In a process of their own, which says when there is something to look at."""
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_hold, args=(*where, there))
    process.start()
    there.close()
    try:
        yield here
    finally:
        process.terminate()
        process.join()


def _hold(ca: str, certificate: str, port: int, count: int, told: Connection) -> None:
    """Clients that have begun a message each; then some that say much and read nothing."""
    asyncio.run(_connect_all(ca, certificate, port, count, told))


async def _connect_all(ca: str, certificate: str, port: int, count: int, told: Connection) -> None:
    tls = device_tls(ca, certificate)
    begun = b"x" * min(_BEGUN_BYTES // count, 900_000)
    opened = []
    while len(opened) < count:
        more = min(100, count - len(opened))
        made = await asyncio.gather(
            *(asyncio.open_connection("localhost", port, ssl=tls) for _ in range(more))
        )
        for reader, writer in made:
            writer.write(b"HELLO c-%d\n" % (len(opened) + 1))
            await reader.readline()
            writer.write(begun)
            opened.append((reader, writer))
    for _, writer in opened:
        await writer.drain()
    await asyncio.sleep(2)
    told.send("they are connected")
    await asyncio.sleep(2)
    deaf = [_deafen(tls, port) for _ in range(_DEAF)]
    told.send("some of these are there")
    await asyncio.sleep(2)
    deaf += [_deafen(tls, port) for _ in range(_DEAF)]
    told.send("more of these are there")
    await asyncio.sleep(600)
    del deaf


def _deafen(tls: ssl.SSLContext, port: int) -> ssl.SSLSocket:
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    plain.connect(("127.0.0.1", port))
    made = tls.wrap_socket(plain, server_hostname="localhost")
    made.settimeout(_DEAF_S)
    with suppress(TimeoutError):
        while True:
            made.sendall(b"x\n" * 5_000)
    return made


# Its delivery: what a broker that answers nothing leaves in memory.


class _Silent(Link):
    """Its broker was there, and answers no more."""

    def look(self) -> Any:
        return self

    def __enter__(self) -> _Silent:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing was opened."""

    def at(self, _: str) -> TopicView:
        return TopicView("id", {0: 0}, {0: 0})


def _unanswered(size: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        spool = Spool(Path(folder) / "spool", BOUNDS.model_copy(update={"total_bytes": 1 << 30}))
        while spool.next_index < 60_000:
            spool.keep([Draft(b"t", b"key", bytes(size))] * 500)
        before = _rss(psutil.Process())
        courier = courier_of(SITE.name, "lines", spool, Path(folder))
        forwarder = Forwarder([courier], {"lines": ["t"]}, None, time.monotonic, lambda: False)
        link = _Silent(SITE, {"bootstrap.servers": NOBODY}, dict)
        forwarder.begin(link)
        while forwarder.feed(link):
            link.poll(0)
        grown = _rss(psutil.Process()) - before
        link.close()
        return grown


def _far_ahead() -> int:
    before = _rss(psutil.Process())
    window = Window(DeliveryProgress())
    for index in range(MOST_AHEAD):
        window.hand_over(index)
    for index in range(1, MOST_AHEAD):
        window.finish(index)
    return _rss(psutil.Process()) - before


# A relay: what is read ahead, what waits to be brought, what is being brought.


def relay(_: int) -> Iterator[Row]:
    """The broker that it reads is one that librdkafka plays."""
    yield "relay: its process", _mb(_alone(_itself))
    played = Producer({"test.mock.num.brokers": 1, "linger.ms": 20})
    (address,) = {str(one).split("/")[0] for one in played.list_topics().brokers.values()}
    for topics in _TOPICS:
        names = [f"t{topics}-{number}" for number in range(topics)]
        for number in range(_RECORDS):
            played.produce(names[number % topics], os.urandom(500))
            if number % 10_000 == 0:
                played.flush()
        played.flush()
        grown = _alone(_read_ahead, address, names)
        yield f"relay: {topics * _PARTITIONS} partitions, all queues full: more", _mb(grown)


def _itself() -> int:
    import_module("millrace.relay.io.relay_run")
    return _rss(psutil.Process())


def _read_ahead(address: str, topics: list[str]) -> int:
    before = _rss(psutil.Process())
    own = {"queued.max.messages.kbytes": prefetch_kb(1), "bootstrap.servers": address}
    consumer = Consumer({**READS, **own, "auto.offset.reset": "earliest"})
    parts = [TopicPartition(name, number, 0) for name in topics for number in range(_PARTITIONS)]
    consumer.assign(parts)
    inbox, origins = Inbox(), {name: TopicIds("id", "id") for name in topics}
    _fill_inbox(consumer, inbox, origins)
    taken = inbox.take(0)
    target = Producer({**WRITES, "bootstrap.servers": NOBODY, "log_level": 0})
    for message in (message for batch in taken for message in batch.messages):
        target.produce("target", message.value(), message.key())
    _fill_inbox(consumer, inbox, origins)
    time.sleep(5)  # the consumer reads on, as far as it may
    grown = _rss(psutil.Process()) - before
    target.purge()
    consumer.close()
    return grown


def _fill_inbox(consumer: Consumer, inbox: Inbox, origins: dict[str, TopicIds]) -> None:
    messages = [None]
    while messages:
        messages = consumer.consume(1_000, 10.0)
        read = [one for one in messages if not one.error()]
        if not inbox.put(RelayedBatch("s", origins, read), 0):
            return
    raise RuntimeError("what there is to read does not fill the queues")


# What all of them need.


def _alone(work: Callable[..., int], *arguments: Any) -> int:
    with _apart() as pool:
        return pool.submit(work, *arguments).result()


def _apart() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, get_context("spawn"))


def _rss(process: psutil.Process) -> int:
    return int(process.memory_info().rss)


def _peak(process: psutil.Process) -> int:
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    (found,) = [line for line in lines if line.startswith("VmHWM:")]
    return int(found.split()[1]) << 10


def _mb(size: float) -> str:
    return f"{size / (1 << 20):,.0f} MB"


MEASURES: dict[str, Callable[[int], Iterator[Row]]] = {"gateway": gateway, "relay": relay}

if __name__ == "__main__":
    main()
