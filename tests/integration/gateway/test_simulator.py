"""The simulator against a real broker, also one that dies and comes back."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import islice
from threading import Event

from millrace.gateway.simulator.io.simulator import encode_readings, simulate
from millrace.kafka.io.client_errors import SiteError
from millrace.kafka.io.sender import Sender
from millrace.provisioning.core.site_rights import Acl, Operation, Resource, Topic, Wanted
from millrace.schemas.io.decode import decode
from millrace.sites.core.simulation import Simulator
from tests.integration.conftest import Message, RunningSite
from tests.support import wait_until

START = datetime(2026, 1, 1, tzinfo=UTC)


class Run:
    """A simulator's run of one test: in a thread of its own, with what it says."""

    def __init__(self, site: RunningSite, simulator: Simulator, count: int | None = None) -> None:
        self.said: list[str] = []
        self.stop = Event()
        settings = site.settings("simulator")
        self._pool = ThreadPoolExecutor(1)
        self._delivered = self._pool.submit(
            simulate,
            site.spec,
            Sender(site.spec, settings, simulator.topic),
            simulator,
            site.schemas,
            stop=self.stop,
            say=self.said.append,
            count=count,
            start_at=START,
        )

    def delivered(self, timeout_s: float = 40.0) -> int:
        try:
            return self._delivered.result(timeout_s)
        finally:
            self.stop.set()
            self._pool.shutdown()

    def is_over(self) -> bool:
        return self._delivered.done()


def expected(site: RunningSite, simulator: Simulator, count: int) -> list[Message]:
    messages = encode_readings(simulator, site.spec.name, site.schemas, START)
    return list(islice(messages, count))


def by_key(messages: list[Message]) -> dict[bytes | None, list[bytes | None]]:
    """Values in order, key by key: what a partitioned topic promises to keep."""
    found: dict[bytes | None, list[bytes | None]] = {}
    for key, value in messages:
        found.setdefault(key, []).append(value)
    return found


def test_same_seed_and_start_send_the_same_bytes(site):
    simulator = Simulator(rate=50_000, seed=7)
    before = len(site.consume("app", simulator.topic))
    assert Run(site, simulator, 1_000).delivered() == 1_000
    first = by_key(site.consume("app", simulator.topic))
    assert Run(site, simulator, 1_000).delivered() == 1_000
    both = by_key(site.consume("app", simulator.topic))

    assert before == 0
    assert first == by_key(expected(site, simulator, 1_000))
    assert both == {key: values * 2 for key, values in first.items()}


def test_another_seed_sends_other_data(site):
    one, other = (expected(site, Simulator(seed=seed), 100) for seed in (1, 2))
    assert one != other


def test_what_is_sent_can_be_read_by_people(site):
    for format in ("avro", "json"):
        simulator = Simulator(format=format)
        key, value = expected(site, simulator, 1)[0]
        record = decode(value, site.schemas)
        assert key == b"plant-t-t1"
        assert record["sensor_id"] == "plant-t-t1"
        assert set(record) == {"sensor_id", "timestamp", "temperature", "unit"}


def test_broker_killed_mid_run_loses_nothing_and_keeps_each_keys_order(site):
    simulator = Simulator(topic="killed", format="json", rate=4_000, sensors=7)
    count = 15_000
    site.add_topic("killed", partitions=3)
    run = Run(site, simulator, count)
    wait_until(lambda: site.count("app", "killed") > 1_000)
    site.stop(signal.SIGKILL)
    assert not run.is_over(), "the broker died too late to prove anything"
    site.start()

    assert run.delivered() == count
    assert by_key(site.consume("app", "killed")) == by_key(expected(site, simulator, count))


def test_simulator_waits_for_its_topic_and_says_so(site):
    run = Run(site, Simulator(topic="later", format="json", rate=1_000), count=10)
    wait_until(lambda: bool(run.said))
    site.add_topic("later")

    assert run.delivered() == 10
    assert "waiting for topic 'later'" in run.said[0]
    assert len(site.consume("app", "later")) == 10


def test_stopped_simulator_has_delivered_what_it_sent(site):
    site.add_topic("stopped")
    run = Run(site, Simulator(topic="stopped", format="json", rate=500))
    wait_until(lambda: site.count("app", "stopped") > 50)
    run.stop.set()
    delivered = run.delivered()
    assert delivered == len(site.consume("app", "stopped"))


def test_refused_messages_are_sent_again_in_order_once_they_may(site):
    """A delivery that fails for good takes nothing with it: rights may come back."""
    topic = Topic(name="shut", partitions=1)
    site.provision(Wanted(topics=(topic,)))
    sender = Sender(site.spec, site.settings("simulator"), "shut")
    messages = [(b"key", str(number).encode()) for number in range(500)]
    for key, value in messages:
        sender.send(key, value)
    wait_until(lambda: "no right" in poll_trouble(sender))

    site.add_topic("shut", partitions=1)
    wait_until(lambda: not poll_outstanding(sender))
    assert sender.delivered == 500
    assert site.consume("app", "shut") == messages


def test_a_user_with_no_right_to_write_anything_waits_for_one(site):
    """Kafka ends such a user's producer for good, before its first message."""
    newcomer = Wanted(users=("newcomer",), topics=(Topic(name="barred", partitions=1),))
    site.provision(newcomer)
    sender = Sender(site.spec, site.settings("newcomer"), "barred")
    wait_until(lambda: "has no right to use the cluster" in poll_trouble(sender))
    assert "no right to use topic 'barred'" in str(sender.find_obstacle())

    rights = (
        Acl(user="newcomer", operation=operation, resource=Resource.TOPIC, name="barred")
        for operation in (Operation.WRITE, Operation.DESCRIBE)
    )
    site.provision(Wanted(acls=tuple(rights)))
    wait_until(lambda: poll_obstacle(sender) is None)
    sender.send(b"key", b"value")
    wait_until(lambda: not poll_outstanding(sender))
    assert sender.delivered == 1


def poll_obstacle(sender: Sender) -> SiteError | None:
    sender.poll(0.1)
    return sender.find_obstacle()


def poll_trouble(sender: Sender) -> str:
    sender.poll(0.1)
    return str(sender.trouble())


def poll_outstanding(sender: Sender) -> int:
    sender.poll(0.1)
    return sender.outstanding
