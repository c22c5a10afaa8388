"""The gateway on a real broker: what it has answered for is delivered, once and in order."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

from millrace.secrets.io.device_certificates import issue
from tests.integration.conftest import CHECKOUT, RunningSite
from tests.integration.stands.edge.gateways import LINES, Feeder, readings
from tests.support import wait_until

HTTP = {"name": "http", "kind": "http"}
NDJSON = {"Content-Type": "application/x-ndjson"}
WRONG = {"Authorization": "Bearer wrong"}


def test_what_is_answered_reaches_the_broker_in_order(site, new_gateway):
    site.add_topic("gateway-plain", partitions=1)
    gateway = new_gateway({**LINES, "topic": "gateway-plain"})
    device = gateway.device_at()
    messages = readings(0, 1_000)
    device.send(messages)

    assert device.answers(1_000) == [str(number) for number in range(1, 1_001)]
    wait_until(lambda: site.count("app", "gateway-plain") == 1_000)
    found = site.consume("app", "gateway-plain")
    assert [value for _, value in found] == messages
    assert found[7][0] == b"d2"


def by_device(site: RunningSite, topic: str) -> dict[str, list[int]]:
    """The numbers of each device's messages, in the topic's order."""
    found: dict[str, list[int]] = {}
    for _, value in site.consume("app", topic):
        message = json.loads(value)
        found.setdefault(message["id"], []).append(message["n"])
    return found


def expected(count: int, devices: int = 5) -> dict[str, list[int]]:
    return {f"d{device}": list(range(device, count, devices)) for device in range(devices)}


def test_a_killed_gateway_loses_nothing_doubles_nothing_and_keeps_order(site, new_gateway):
    site.add_topic("gateway-killed", partitions=3)
    gateway = new_gateway({**LINES, "topic": "gateway-killed"})
    count = 60_000
    feeder = Feeder(gateway, "plc-1", readings(0, count))
    feeder.start()
    for kill in range(4):
        wait_until(lambda kill=kill: feeder.answered > (kill + 1) * 10_000)
        gateway.stop(signal.SIGKILL)
        gateway.start()
    feeder.finish(60)

    wait_until(lambda: site.count("app", "gateway-killed") >= count)
    gateway.stop()
    assert by_device(site, "gateway-killed") == expected(count)
    assert feeder.reconnects >= 4


def test_a_killed_broker_loses_nothing_doubles_nothing_and_keeps_order(site, new_gateway):
    site.add_topic("gateway-broker-killed", partitions=3)
    gateway = new_gateway({**LINES, "topic": "gateway-broker-killed"})
    count = 40_000
    feeder = Feeder(gateway, "plc-1", readings(0, count))
    feeder.start()
    wait_until(lambda: feeder.answered > 10_000)
    site.stop(signal.SIGKILL)
    wait_until(lambda: feeder.answered > 30_000, what="taken while the broker is away")
    site.come_back()
    feeder.finish(60)

    wait_until(lambda: site.count("app", "gateway-broker-killed") >= count, 60)
    gateway.stop()
    assert by_device(site, "gateway-broker-killed") == expected(count)


def test_gateway_and_broker_killed_together(site, new_gateway):
    site.add_topic("gateway-both-killed", partitions=3)
    gateway = new_gateway({**LINES, "topic": "gateway-both-killed"})
    count = 40_000
    feeder = Feeder(gateway, "plc-1", readings(0, count))
    feeder.start()
    wait_until(lambda: feeder.answered > 10_000)
    site.stop(signal.SIGKILL)
    gateway.stop(signal.SIGKILL)
    gateway.start()
    wait_until(lambda: feeder.answered > 20_000, what="taken while the broker is away")
    gateway.stop(signal.SIGKILL)
    gateway.start()
    site.come_back()
    feeder.finish(60)

    wait_until(lambda: site.count("app", "gateway-both-killed") >= count, 60)
    gateway.stop()
    assert by_device(site, "gateway-both-killed") == expected(count)


def test_what_comes_by_https_is_answered_when_it_is_safe(site, new_gateway, tmp_path):
    site.add_topic("gateway-http", partitions=1)
    tokens = tmp_path / "tokens"
    tokens.write_text("secret-1\nsecret-2\n")
    tokens.chmod(0o600)
    gateway = new_gateway({**HTTP, "topic": "gateway-http", "tokens": str(tokens)})
    with gateway.http("secret-2") as client:
        one = client.post("/messages", content=b'{"id":"d1"}')
        many = client.post("/messages", content=b"1\n2\n3", headers=NDJSON)
        again = [
            client.post("/messages", content=b"a\nb", headers={**NDJSON, "Idempotency-Key": "k"})
            for _ in range(2)
        ]
        long = client.post("/messages", content=b"x" * 1_000_001)
        empty = client.post("/messages", content=b"")
        assert one.json() == {"safe": 1, "known": 0, "first": 1, "last": 1}
        assert many.json() == {"safe": 3, "known": 0, "first": 2, "last": 4}
        assert [a.json()["known"] for a in again] == [0, 2]
        assert (long.status_code, empty.status_code) == (413, 400)
        assert client.post("/messages", content=b"x", headers=WRONG).status_code == 401
    wait_until(lambda: site.count("app", "gateway-http") == 6)
    values = [value for _, value in site.consume("app", "gateway-http")]
    assert values == [b'{"id":"d1"}', b"1", b"2", b"3", b"a", b"b"]


def test_its_page_and_metrics_tell_how_it_does(site, new_gateway, tmp_path):
    site.add_topic("gateway-status", partitions=1)
    token = tmp_path / "token"
    token.write_text("secret\n")
    token.chmod(0o600)
    gateway = new_gateway({**LINES, "topic": "gateway-status"}, status={"token": str(token)})
    device = gateway.device_at()
    device.send([b"x" * 1_000_001, *readings(0, 9)])
    assert device.answers(10)[0] == "REFUSED longer than 1000000 bytes"
    wait_until(lambda: site.count("app", "gateway-status") == 9)

    with gateway.http("secret", gateway.port + 1) as client:
        wait_until(lambda: client.get("/status").json()["inputs"][0]["delivered"] == 9)
        state = client.get("/status").json()
        assert state["alarms"] == []
        assert state["inputs"][0]["malformed"] == 1
        metrics = client.get("/metrics").text
        assert 'millrace_gateway_delivered_total{input="lines",site="plant-t"} 9.0' in metrics
        assert "All is well." in client.get("/").text
        assert client.get("/health").json() == {"healthy": True, "full": []}
        for path in ("/", "/status", "/metrics", "/health"):
            assert client.get(path, headers=WRONG).status_code == 401


def test_what_the_guide_tells_makers_of_devices_works(site, new_gateway, tmp_path):
    site.add_topic("gateway-guide", partitions=1)
    tokens = tmp_path / "tokens"
    tokens.write_text("secret\n")
    tokens.chmod(0o600)
    web = {**HTTP, "topic": "gateway-guide", "tokens": str(tokens)}
    lines = {**LINES, "names": "certificate", "topic": "gateway-guide"}
    gateway = new_gateway(lines, web)
    robot = issue(site.layout, site.spec.name, "robot-17")
    (tmp_path / "ca.pem").symlink_to(site.layout.ca)
    (tmp_path / "device.pem").symlink_to(robot)
    guide = (CHECKOUT / "docs/guide/gateway.md").read_text()
    python = _block(guide, "python").replace("PORT", str(gateway.port))
    subprocess.run([sys.executable, "-c", python], cwd=tmp_path, check=True, timeout=30)
    shell = {"PATH": os.environ["PATH"], "TOKEN": "secret", "NUMBER": "1"}
    shell["PORT"] = str(gateway.port + 1)
    command = ["sh", "-c", _block(guide, "sh")]
    for _ in range(2):
        subprocess.run(command, cwd=tmp_path, env=shell, check=True, timeout=30)

    wait_until(lambda: site.count("app", "gateway-guide") == 2)
    values = [json.loads(value) for _, value in site.consume("app", "gateway-guide")]
    assert values == [{"sensor_id": "t1", "value": 21.5}] * 2


def _block(text: str, language: str) -> str:
    return text.split(f"```{language}\n")[1].split("```")[0]
