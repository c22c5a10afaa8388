"""What a gateway looks for at the broker after a start, in whatever state it finds its topics."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from millrace.gateway.delivery.io.progress_file import read_progress
from tests.integration.conftest import RunningSite
from tests.integration.stands.edge.gateways import LINES, Feeder, RunningGateway, readings
from tests.support import wait_until

MORE = {**LINES, "name": "more"}


@pytest.fixture
def status(tmp_path: Path) -> dict[str, str]:
    token = tmp_path / "token"
    token.write_text("secret\n")
    token.chmod(0o600)
    return {"token": str(token)}


def look(gateway: RunningGateway, inputs: int = 1) -> dict[str, object]:
    with gateway.http("secret", gateway.port + inputs) as client:
        found: dict[str, object] = client.get("/status").json()
        return found


def make_anew(site: RunningSite, topic: str) -> None:
    admin = AdminClient(dict(site.admin))
    admin.delete_topics([topic])[topic].result(15)
    wait_until(lambda: topic not in admin.list_topics(timeout=10).topics)
    site.add_topic(topic, partitions=1)


def numbers(site: RunningSite, topic: str) -> list[int]:
    return [json.loads(value)["n"] for _, value in site.consume("app", topic)]


@contextmanager
def open_transaction(site: RunningSite, topic: str) -> Iterator[None]:
    """Of another user, who began it and says nothing more."""
    producer = Producer({**site.admin, "transactional.id": f"other-{topic}"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b'{"id":"other","n":-1}')
    assert producer.flush(15) == 0
    yield
    producer.abort_transaction(30)


def test_kills_beside_an_open_transaction_double_nothing(site, new_gateway):
    """Readers of committed messages see none behind it; the look back sees them."""
    topic, count = "look-transaction", 30_000
    site.add_topic(topic, partitions=1)
    gateway = new_gateway({**LINES, "topic": topic})
    feeder = Feeder(gateway, "plc", readings(0, count))
    with open_transaction(site, topic):
        feeder.start()
        for kill in range(3):
            wait_until(lambda kill=kill: feeder.answered > (kill + 1) * 7_000)
            gateway.stop(signal.SIGKILL)
            gateway.start()
        feeder.finish(60)
        gateway.stop()
    assert numbers(site, topic) == list(range(count))


def test_a_topic_made_anew_while_messages_wait_gets_all_of_them_once(site, new_gateway, status):
    topic, count = "look-anew", 30_000
    site.add_topic(topic, partitions=1)
    both = [{**LINES, "topic": topic}, {**MORE, "topic": topic}]
    gateway = new_gateway(*both, status=status)
    feeder = Feeder(gateway, "plc", readings(0, count))
    feeder.start()
    # What was sent to the old topic is how the next life knows that it is another one.
    wait_until(lambda: feeder.answered > 10_000 and site.count("app", topic) > 0)
    gateway.stop(signal.SIGKILL)
    in_the_old = set(numbers(site, topic))
    make_anew(site, topic)
    gateway.start()
    wait_until(lambda: feeder.answered > 20_000)
    gateway.stop(signal.SIGKILL)
    gateway.start()
    feeder.finish(60)
    in_the_new = wait_until(lambda: (n := numbers(site, topic)) and n[-1] == count - 1 and n, 60)

    assert in_the_new == list(range(in_the_new[0], count))
    assert in_the_old | set(in_the_new) == set(range(count))
    assert gateway.log.count("deleted and made anew") == 1, "two inputs see it, and one start"


def test_a_topic_made_anew_beside_a_running_gateway_is_seen(site, new_gateway, status):
    topic, count = "look-anew-beside", 40_000
    site.add_topic(topic, partitions=1)
    gateway = new_gateway({**LINES, "topic": topic}, status=status)
    feeder = Feeder(gateway, "plc", readings(0, count))
    feeder.start()
    wait_until(lambda: site.count("app", topic) > 10_000)
    make_anew(site, topic)
    feeder.finish(60)
    in_the_new = wait_until(lambda: (n := numbers(site, topic)) and n[-1] == count - 1 and n, 60)

    assert in_the_new == list(range(in_the_new[0], count))
    wait_until(lambda: look(gateway)["topics_made_anew"] == 1)
    assert gateway.log.count("deleted and made anew") == 1
    gateway.stop(signal.SIGKILL)
    gateway.start()
    wait_until(lambda: "connected" in gateway.log.split("is ready")[-1])
    assert gateway.log.count("deleted and made anew") == 1, "it is known by now"


def test_an_idle_input_reads_nothing_back_whatever_its_neighbour_has_sent(
    site, new_gateway, status
):
    topic, count = "look-idle", 20_000
    site.add_topic(topic, partitions=1)
    gateway = new_gateway({**LINES, "topic": topic}, {**MORE, "topic": topic}, status=status)
    Feeder(gateway, "plc", readings(0, count)).run()
    wait_until(lambda: site.count("app", topic) == count)
    progress = gateway.folder / "data" / "more" / "progress"
    wait_until(lambda: read_progress(progress).offsets == {topic: {0: count}})
    gateway.stop(signal.SIGKILL)
    gateway.start()
    wait_until(lambda: gateway.log.count("is ready") == 2)
    wait_until(lambda: look(gateway, 2)["obstacle"] == "")
    assert look(gateway, 2)["read_back"] == 0

    device = gateway.device_at(gateway.port + 1)
    device.send(readings(count, 10))
    device.answers(10)
    gateway.stop(signal.SIGKILL)
    gateway.start()
    wait_until(lambda: gateway.log.count("is ready") == 3)
    wait_until(lambda: site.count("app", topic) == count + 10)
    assert look(gateway, 2)["read_back"] <= 10, "of what it may have sent itself"
    assert numbers(site, topic) == list(range(count + 10))
