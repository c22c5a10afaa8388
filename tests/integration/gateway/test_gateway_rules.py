"""Rules at the edge: a site reacts by itself, and tells each change once, whatever is killed."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from tests.integration.conftest import RunningSite
from tests.integration.stands.edge.gateways import LINES, Feeder, NewGateway, RunningGateway
from tests.support import wait_until

EVENTS = "threshold-events"
RULE = {
    "name": "too-hot",
    "sensor": "$.id",
    "value": "$.value",
    "time": "$.at",
    "above": 80,
    "hysteresis": 5,
    "topic": EVENTS,
}


def samples(count: int, sensors: int = 10) -> list[bytes]:
    """Each sensor is hot for ten of its samples, and cool for ten."""
    return [
        b'{"id":"s%d","n":%d,"at":%d,"value":%d}'
        % (n % sensors, n, n, 90 if (n // sensors) % 20 >= 10 else 70)
        for n in range(count)
    ]


def changes(count: int, sensors: int = 10) -> dict[str, list[tuple[str, int]]]:
    """Each sensor's, with the moment at which it comes."""
    found: dict[str, list[tuple[str, int]]] = {f"s{n}": [] for n in range(sensors)}
    for n in range(count):
        turn = n // sensors
        if turn and turn % 10 == 0:
            found[f"s{n % sensors}"].append(("began" if turn % 20 else "ended", n))
    return found


def told(site: RunningSite) -> dict[str, list[tuple[str, int]]]:
    found: dict[str, list[tuple[str, int]]] = {}
    for key, value in site.consume("app", EVENTS):
        event = json.loads(value)
        assert key == event["sensor"].encode()
        found.setdefault(event["sensor"], []).append((event["change"], event["at_ms"]))
    return found


class Listener:
    """What is posted to it."""

    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []
        heard = self.heard

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None: ...

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/"


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.server.shutdown()


def gateway_with(new_gateway: NewGateway, source: str, **rule: Any) -> RunningGateway:
    return new_gateway({**LINES, "topic": source, "rules": [{**RULE, **rule}]})


def test_changes_are_told_to_topic_and_webhook(site, new_gateway, listener, tmp_path):
    site.add_topic("rules-told", partitions=1)
    site.add_topic("rules-told-events", partitions=1)
    address = tmp_path / "webhook"
    address.touch(0o600)
    address.write_text(listener.url)
    gateway = gateway_with(
        new_gateway, "rules-told", topic="rules-told-events", webhook=str(address)
    )
    device = gateway.device_at()
    values = [79, 81, 95, 76, 70]
    device.send([b'{"id":"s","at":%d,"value":%d}' % (n, v) for n, v in enumerate(values)])
    device.send([b"no json", b'{"id":"s"}', b'{"value":99}', b'{"id":"s","value":"hot"}'])
    device.answers(9)

    wait_until(lambda: len(listener.heard) == 2)
    began, ended = listener.heard
    assert (began["change"], began["sensor"], began["at_ms"]) == ("began", "s", 1)
    assert (ended["change"], ended["maximum"], ended["average"]) == ("ended", 95, 84)
    wait_until(lambda: site.count("app", "rules-told-events") == 2)
    found = [json.loads(value) for _, value in site.consume("app", "rules-told-events")]
    assert found == [began, ended]


def test_a_killed_gateway_tells_each_change_once(site, new_gateway):
    count = 40_000
    site.add_topic("rules-killed", partitions=1)
    site.add_topic(EVENTS, partitions=2)
    gateway = gateway_with(new_gateway, "rules-killed")
    feeder = Feeder(gateway, "plc", samples(count))
    feeder.start()
    for kill in range(3):
        wait_until(lambda kill=kill: feeder.answered > (kill + 1) * 8_000)
        gateway.stop(signal.SIGKILL)
        gateway.start()
    feeder.finish(60)

    wanted = changes(count)
    wait_until(lambda: site.count("app", EVENTS) >= sum(map(len, wanted.values())), 60)
    gateway.stop()
    assert told(site) == wanted
