"""What is sent to a gateway while it is measured; each function runs in a process of its own."""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections import deque
from itertools import islice

from aiohttp import web
from confluent_kafka import Consumer, TopicPartition

from benchmarks.contestants.mosquitto import Publisher
from millrace.gateway.client.io.device import Address, Device, device_tls
from millrace.gateway.simulator.core.pacing import Pace
from millrace.latency_benchmark.io.message_runners import Way
from millrace.sites.core.spec import ClientSettings

_POLL_S = 0.002
_LISTEN_S = 0.1


def send_paced(way: Way, name: str, rate: float, seconds: float, size: int) -> list[float]:
    """The rate that was answered, and how long each burst waited for its last answer, in ms."""
    device = Device(Address(way.host, way.port, device_tls(way.ca, way.certificate)), name)
    device.poll(0)
    return _pace(device, name, rate, seconds, size)


def publish_paced(way: Way, name: str, rate: float, seconds: float, size: int) -> list[float]:
    """The same, to an MQTT broker."""
    return _pace(Publisher(way, name), name, rate, seconds, size)


def _pace(
    device: Device | Publisher, name: str, rate: float, seconds: float, size: int
) -> list[float]:
    count, waits = int(rate * seconds), []
    pace, began_s, sent = Pace(rate, count), time.monotonic(), 0
    under_way: deque[tuple[int, float]] = deque()
    while device.delivered < count:
        burst = min(pace.due(time.monotonic() - began_s) - sent, device.room, 500)
        for number in range(sent, sent + burst):
            device.send(_line(name, number, size))
        if burst:
            sent += burst
            under_way.append((sent, time.monotonic()))
        device.poll(_POLL_S)
        now_s = time.monotonic()
        while under_way and under_way[0][0] <= device.delivered:
            waits.append((now_s - under_way.popleft()[1]) * 1000)
    device.close()
    return [count / (time.monotonic() - began_s), *waits]


def _line(name: str, number: int, size: int) -> bytes:
    """`value` is over 80 for one in a hundred, and under it for the next."""
    value = 90 if number % 100 == 50 else 20
    at_ms = round(time.time() * 1000)
    line = b'{"id":"%s-%d","at":%d,"value":%d,"pad":"' % (name.encode(), number % 50, at_ms, value)
    return line + b"x" * (size - len(line) - 2) + b'"}'


Heard = tuple[float, float]


def receive(
    settings: ClientSettings, topic: str, partitions: int, field: str, seconds: float
) -> list[Heard]:
    """When messages were made, by the time in one of their fields, and how old they are when they
    are received, in ms."""
    own = {"group.id": "app-bench", "enable.auto.commit": False}
    consumer = Consumer({**settings, **own})
    parts = [TopicPartition(topic, number) for number in range(partitions)]
    ends = [consumer.get_watermark_offsets(part, timeout=10)[1] for part in parts]
    consumer.assign([TopicPartition(topic, n, end) for n, end in enumerate(ends)])
    heard, until_s = [], time.monotonic() + seconds
    while time.monotonic() < until_s:
        message = consumer.poll(_LISTEN_S)
        if message is not None and message.error() is None:
            made_ms = json.loads(message.value())[field]
            heard.append((made_ms, time.time() * 1000 - made_ms))
    consumer.close()
    return heard


def follow(
    settings: ClientSettings, topic: str, partitions: int, field: str, count: int, within_s: float
) -> list[tuple[int, float, float]]:
    """Of each hundredth message: how many had come, when it was sent, and when it came."""
    own = {"group.id": "app-bench", "enable.auto.commit": False}
    consumer = Consumer({**settings, **own})
    parts = [TopicPartition(topic, number) for number in range(partitions)]
    ends = [consumer.get_watermark_offsets(part, timeout=10)[1] for part in parts]
    consumer.assign([TopicPartition(topic, n, end) for n, end in enumerate(ends)])
    seen: list[tuple[int, float, float]] = []
    received, until_s = 0, time.monotonic() + within_s
    while received < count and time.monotonic() < until_s:
        for message in consumer.consume(200, _POLL_S):
            # A broker that is away is told of here too.
            received += message.error() is None
            if message.error() is None and received % 100 == 0:
                sent_s = json.loads(message.value())[field] / 1000
                seen.append((received, sent_s, time.time()))
    consumer.close()
    return seen


def listen(port: int, field: str, seconds: float) -> list[Heard]:
    """The same, of what is posted to a webhook."""
    return asyncio.run(_listen(port, field, seconds))


async def _listen(port: int, field: str, seconds: float) -> list[Heard]:
    heard: list[Heard] = []

    async def hear(request: web.Request) -> web.Response:
        event = await request.read()
        made_ms = json.loads(event)[field]
        heard.append((made_ms, time.time() * 1000 - made_ms))
        return web.Response()

    app = web.Application()
    app.router.add_post("/", hear)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    await asyncio.sleep(seconds)
    await runner.cleanup()
    return heard


def hold_connections(way: Way, first: int, count: int, seconds: float) -> list[float]:
    """Connect so many at once, send a message a second on each. How many were answered, how long
    the storm of connections took, and how many were lost."""
    return asyncio.run(_hold(way, first, count, seconds))


async def _hold(way: Way, first: int, count: int, seconds: float) -> list[float]:
    tls = device_tls(way.ca, way.certificate)
    began_s = time.monotonic()
    opened = []
    numbers = iter(range(first, first + count))
    while batch := list(islice(numbers, 100)):
        opened += await asyncio.gather(*(_connect(way, tls, number) for number in batch))
    storm_s = time.monotonic() - began_s
    answered = await asyncio.gather(*(_talk(*streams, seconds) for streams in opened))
    lost = sum(1 for one in answered if one < seconds * 0.9)
    return [float(sum(answered)), storm_s, float(lost)]


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _connect(way: Way, tls: ssl.SSLContext, number: int) -> Streams:
    reader, writer = await asyncio.open_connection(way.host, way.port, ssl=tls)
    writer.write(b"HELLO client-%d\n" % number)
    await reader.readline()
    return reader, writer


async def _talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float) -> int:
    answered, until_s = 0, time.monotonic() + seconds
    try:
        while time.monotonic() < until_s:
            next_s = time.monotonic() + 1
            writer.write(_line("client", answered, 200) + b"\n")
            await asyncio.wait_for(reader.readline(), 10)
            answered += 1
            await asyncio.sleep(max(0, next_s - time.monotonic()))
    except (OSError, TimeoutError):
        return answered
    finally:
        writer.close()
    return answered
