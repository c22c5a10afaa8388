"""A gateway as subscriber of a real MQTT 5 broker: acknowledged on disk, once, in order."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millrace.gateway.routes.core.risk import RISK
from millrace.platform.core.platform import Platform
from millrace.secrets.core.certificates import Role
from millrace.secrets.io.pki import ensure_authority, ensure_certificate
from tests.integration.conftest import RunningSite
from tests.integration.stands.edge.command_devices import (
    MqttDevice,
    command,
    outcome_of,
    ready,
    send,
)
from tests.integration.stands.edge.gateways import BIG, SMALL, NewGateway, RunningGateway, readings
from tests.integration.stands.edge.mqtt_broker import GATEWAY_PASSWORD, GATEWAY_USER, RunningMqtt
from tests.integration.stands.edge.mqtt_publisher import Publisher
from tests.support import wait_until


@pytest.fixture(autouse=True)
def _thawed(site: RunningSite) -> Iterator[None]:
    yield
    site.thaw()


def _login(folder: Path) -> Path:
    login = folder / "login"
    login.write_text(f"username={GATEWAY_USER}\npassword={GATEWAY_PASSWORD}\n")
    login.chmod(0o600)
    return login


@pytest.fixture
def new_subscriber(new_gateway: NewGateway, mqtt: RunningMqtt, tmp_path: Path) -> Iterator[Any]:
    def make(name: str, **extra: Any) -> RunningGateway:
        """It takes what comes by `<name>/...`, to the topic of that name."""
        own = {"name": "mqtt", "kind": "mqtt", "session": name, "topic": name}
        where = {"broker": mqtt.address, "subscribe": [f"{name}/#"], "login": str(_login(tmp_path))}
        tls = {"tls": {"ca": str(mqtt.layout.ca)}}
        given = {"key": {"level": 2}, **own, **where, **tls, **extra}
        return new_gateway({key: value for key, value in given.items() if value is not None})

    return make


@pytest.fixture
def new_publisher(mqtt: RunningMqtt) -> Iterator[Any]:
    made: list[Publisher] = []

    def make(name: str, *, numbered: bool = False) -> Publisher:
        made.append(Publisher(mqtt, name, numbered=numbered))
        return made[-1]

    yield make
    for publisher in made:
        publisher.close()


def by_key(site: RunningSite, topic: str) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for key, value in site.consume("app", topic):
        assert key is not None
        assert value is not None
        found.setdefault(key.decode(), []).append(json.loads(value)["n"])
    return found


def connected(gateway: RunningGateway, times: int = 1) -> None:
    wait_until(lambda: gateway.log.count("mqtt: connected to") >= times)


def test_what_comes_by_mqtt_reaches_the_broker_under_its_level(
    site, mqtt, new_subscriber, new_publisher
):
    site.add_topic("mqtt-plain", partitions=1)
    gateway = new_subscriber("mqtt-plain")
    connected(gateway)
    publisher = new_publisher("plc")
    publisher.publish("mqtt-plain/line-1/state", readings(0, 500))
    publisher.publish("mqtt-plain/line-2/state", readings(500, 500))
    wait_until(lambda: site.count("app", "mqtt-plain") == 1_000)
    assert by_key(site, "mqtt-plain") == {
        "line-1": list(range(500)),
        "line-2": list(range(500, 1_000)),
    }


def test_what_nobody_can_read_stops_nothing_that_comes_after_it(
    site, mqtt, new_subscriber, new_publisher
):
    """More of each than the broker sends without an answer."""
    site.add_topic("mqtt-hostile", partitions=1)
    connected(new_subscriber("mqtt-hostile", key={"field": "$.id"}, receive_maximum=20))
    publisher = new_publisher("plc")
    deep = b'{"id":' + b"[" * 2_000 + b"]" * 2_000 + b"}"
    publisher.publish("mqtt-hostile/a", [deep] * 30)
    mark, number = ("note", "\N{ZERO WIDTH NO-BREAK SPACE}"), ("millrace-number", "1" * 5_000)
    for properties in ([mark], [("millrace-origin", "plc"), number]):
        publisher.publish("mqtt-hostile/a", [b"{}"] * 30, properties=properties)
    publisher.publish("mqtt-hostile/a", readings(0, 100))

    wait_until(lambda: site.count("app", "mqtt-hostile") == 190)
    values = [value for _, value in site.consume("app", "mqtt-hostile")]
    assert values == [deep] * 30 + [b"{}"] * 60 + readings(0, 100)


def test_what_came_while_the_gateway_was_away_was_kept_for_it(
    site, mqtt, new_subscriber, new_publisher
):
    site.add_topic("mqtt-away", partitions=1)
    gateway = new_subscriber("mqtt-away")
    connected(gateway)
    gateway.stop()
    publisher = new_publisher("plc")
    publisher.publish("mqtt-away/line-1", readings(0, 300))
    publisher.finish()
    gateway.start()
    wait_until(lambda: site.count("app", "mqtt-away") == 300)
    assert by_key(site, "mqtt-away") == {"line-1": list(range(300))}


def test_a_killed_gateway_loses_nothing_doubles_nothing_and_keeps_each_publishers_order(
    site, mqtt, new_subscriber, new_publisher
):
    site.add_topic("mqtt-killed", partitions=3)
    gateway = new_subscriber("mqtt-killed")
    connected(gateway)
    count, names = 1_500, ["a", "b", "c"]
    publishers = [new_publisher(name, numbered=True) for name in names]
    for publisher, name in zip(publishers, names, strict=True):
        publisher.publish(f"mqtt-killed/{name}", readings(0, count))
    for kill in range(2):
        wait_until(lambda kill=kill: site.count("app", "mqtt-killed") > (kill + 1) * 1_000, 60)
        gateway.stop(signal.SIGKILL)
        gateway.start()
    for publisher in publishers:
        publisher.finish()
    wait_until(lambda: site.count("app", "mqtt-killed") >= count * 3, 60)
    gateway.stop()
    assert by_key(site, "mqtt-killed") == {name: list(range(count)) for name in names}
    assert site.count("app", "mqtt-killed") == count * 3


def test_two_publishers_of_one_name_are_told_of_and_a_repetition_is_not(
    site, mqtt, new_subscriber, new_publisher
):
    site.add_topic("mqtt-shared", partitions=1)
    gateway = new_subscriber("mqtt-shared")
    connected(gateway)
    publisher = new_publisher("any")

    def publish(origin: str, first: int) -> None:
        for number, message in enumerate(readings(first, 10), 1):
            about = [("millrace-origin", origin), ("millrace-number", str(number))]
            publisher.publish("mqtt-shared/a", [message], properties=about)

    for first in (0, 0):
        publish("once", first)
    for first in (100, 200):
        publish("twice", first)
    publish("last", 300)
    wait_until(lambda: site.count("app", "mqtt-shared") == 30)
    assert gateway.log.count("two publishers") == 1
    assert "mqtt: twice on mqtt-shared/a: messages are discarded" in gateway.log


def test_an_mqtt_broker_that_goes_and_comes_back_is_taken_up_again(
    site, mqtt, new_subscriber, new_publisher
):
    site.add_topic("mqtt-back", partitions=1)
    gateway = new_subscriber("mqtt-back")
    connected(gateway)
    publisher = new_publisher("plc", numbered=True)
    publisher.publish("mqtt-back/line-1", readings(0, 1_500))
    wait_until(lambda: site.count("app", "mqtt-back") > 300)
    mqtt.stop(signal.SIGTERM)
    wait_until(lambda: "the connection has ended" in gateway.log)
    mqtt.start()
    publisher.finish()
    wait_until(lambda: site.count("app", "mqtt-back") >= 1_500, 60)
    assert by_key(site, "mqtt-back") == {"line-1": list(range(1_500))}


def test_a_full_spool_acknowledges_nothing_and_then_takes_all(
    site, mqtt, new_subscriber, new_publisher
):
    """What is not acknowledged stays with the MQTT broker: also when the gateway is killed."""
    site.add_topic("mqtt-full", partitions=1)
    site.freeze()
    gateway = new_subscriber("mqtt-full", **SMALL)
    connected(gateway)
    publisher = new_publisher("plc")
    publisher.publish("mqtt-full/line-1", BIG)
    wait_until(lambda: "no room" in gateway.log)
    publisher.finish()
    gateway.stop(signal.SIGKILL)
    site.thaw()
    gateway.start()
    wait_until(lambda: site.count("app", "mqtt-full") >= len(BIG), 60)
    found = by_key(site, "mqtt-full")["line-1"]
    assert sorted(set(found)) == list(range(100))


def test_a_full_spool_that_refuses_lets_go_of_what_it_refused(
    site, mqtt, new_subscriber, new_publisher
):
    site.add_topic("mqtt-refuse", partitions=1)
    site.freeze()
    gateway = new_subscriber("mqtt-refuse", at_bound="refuse", **SMALL)
    connected(gateway)
    publisher = new_publisher("plc", numbered=True)
    publisher.publish("mqtt-refuse/line-1", BIG)
    wait_until(lambda: "no room" in gateway.log)
    publisher.finish()
    site.thaw()
    wait_until(lambda: _is_taken_again(site, publisher), poll_s=0.5)
    found = by_key(site, "mqtt-refuse")["line-1"]
    assert 0 < len([n for n in found if n < 100]) < 100
    assert found == sorted(found)


def _is_taken_again(site: RunningSite, publisher: Publisher) -> bool:
    publisher.publish("mqtt-refuse/line-1", [b'{"n":100}'])
    return 100 in by_key(site, "mqtt-refuse").get("line-1", [])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"tls": {"ca": "other"}}, "its certificate is not to be trusted"),
        (
            {"tls": None, "plain": True, "risk": RISK},
            "it hangs up before it answers; does it want TLS",
        ),
    ],
    ids=["authority", "plain text"],
)
def test_who_does_not_trust_the_other_gets_nothing(
    site, mqtt, new_subscriber, tmp_path, wrong, said
):
    site.add_topic("mqtt-refused", partitions=1)
    if wrong.get("tls"):
        wrong = {"tls": {"ca": str(_other_authority(tmp_path))}}
    gateway = new_subscriber("mqtt-refused", **wrong)
    wait_until(lambda: said in gateway.log)
    assert "connected to" not in gateway.log


def _other_authority(folder: Path) -> Path:
    layout = Platform(folder / "other")
    ensure_authority(layout)
    return layout.ca


def test_a_wrong_password_is_told_of_and_a_new_one_taken_up(site, mqtt, new_subscriber, tmp_path):
    site.add_topic("mqtt-password", partitions=1)
    login = tmp_path / "own-login"
    login.write_text(f"username={GATEWAY_USER}\npassword=guess\n")
    login.chmod(0o600)
    gateway = new_subscriber("mqtt-password", login=str(login))
    wait_until(lambda: "Not authorized: wrong user or password" in gateway.log)
    login.write_text(f"username={GATEWAY_USER}\npassword={GATEWAY_PASSWORD}\n")
    connected(gateway)
    assert "guess" not in gateway.log


def test_a_certificate_is_enough(site, mqtt, new_subscriber, new_publisher):
    site.add_topic("mqtt-certificate", partitions=1)
    tls = {"ca": str(mqtt.layout.ca), "certificate": _certificate(mqtt)}
    where = {"broker": mqtt.address_for_certificates}
    gateway = new_subscriber("mqtt-certificate", login=None, tls=tls, **where)
    connected(gateway)
    publisher = new_publisher("plc")
    publisher.publish("mqtt-certificate/line-1", readings(0, 3))
    wait_until(lambda: site.count("app", "mqtt-certificate") == 3)


def _certificate(mqtt: RunningMqtt) -> str:
    return str(
        ensure_certificate(
            mqtt.layout, mqtt.layout.certificate("mqtt", "gateway"), "gateway", Role.CLIENT
        )
    )


@pytest.fixture
def commanding(site: RunningSite, mqtt: RunningMqtt, new_gateway: Any, tmp_path: Path) -> Any:
    """A gateway whose devices are those of the MQTT broker."""
    site.add_topic("mqtt-commanded", partitions=1)
    own = {"name": "mqtt", "kind": "mqtt", "session": tmp_path.name, "topic": "mqtt-commanded"}
    where = {"broker": mqtt.address, "subscribe": ["state/#"], "login": str(_login(tmp_path))}
    gateway = new_gateway({**own, **where, "tls": {"ca": str(mqtt.layout.ca)}, "commands": {}})
    ready(gateway)
    wait_until(lambda: "mqtt: connected to" in gateway.log)
    return gateway


def told_by_mqtt(device: MqttDevice) -> list[str]:
    return [message.properties.CorrelationData.decode() for message in device.told]


def test_a_device_of_the_mqtt_broker_is_told_and_answers(site, mqtt, commanding):
    gateway = commanding
    absent, late = command("pump-2", life_s=2), command("pump-1")
    send(site, absent, late)
    assert outcome_of(site, absent)["text"] == "its device was not connected"
    device = MqttDevice(mqtt, "pump-1", "done at once")
    try:
        found = outcome_of(site, late)
        gateway.stop(signal.SIGKILL)
        gateway.start()
        send(site, late)
        last = command("pump-1")
        send(site, last)
        assert outcome_of(site, last)["outcome"] == "done"
    finally:
        device.close()
    assert (found["outcome"], found["text"]) == ("done", "at once")
    assert told_by_mqtt(device) == [late["id"], last["id"]]
    assert all(0 < message.properties.MessageExpiryInterval <= 60 for message in device.told)
    values = [value or b"" for _, value in site.consume("app", "mqtt-commanded")]
    assert not [value for value in values if b"at once" in value], "an outcome is no message"


def test_what_a_cut_left_unanswered_at_the_mqtt_broker_is_not_published_again(
    site, mqtt, commanding
):
    """It has expired when the broker is back; to publish it again would let the device do it."""
    device = MqttDevice(mqtt, "pump-3", "done")
    try:
        assert mqtt.process
        mqtt.process.send_signal(signal.SIGSTOP)
        cut = command("pump-3", life_s=3)
        send(site, cut)
        wait_until(lambda: f"command {cut['id']} open sent to pump-3" in commanding.log)
        mqtt.stop(signal.SIGKILL)
        assert outcome_of(site, cut)["text"].endswith("and not answered")
        mqtt.start()
        wait_until(lambda: commanding.log.count("mqtt: connected to") == 2)
        last = command("pump-3")
        send(site, last)
        assert outcome_of(site, last)["outcome"] == "done"
    finally:
        device.close()
    assert told_by_mqtt(device) == [last["id"]]
