"""The settings we hand out work as they are, in each client's own words."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Producer

from millrace.kafka.core.kafka_client import as_properties, java_settings
from millrace.provisioning.core.site_rights import wanted_for_site
from tests.integration.conftest import TEMPERATURE


@pytest.fixture(scope="module")
def topic(site) -> str:
    site.add_topic("clients", partitions=1)
    return "clients"


def java(site, main: str, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    command = ("java", "-cp", f"{site.layout.jars('kafka')}/*", main, *arguments)
    return subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=60, check=True
    )


def test_java_console_tools_write_and_read_what_python_reads(site, topic, tmp_path: Path):
    config = tmp_path / "client.properties"
    secret = site.layout.user_secret(site.spec.name, "app")
    config.write_text(as_properties(java_settings(site.spec, site.layout.ca, secret)))
    assert site.password_of("app") not in config.read_text()
    door = ("--bootstrap-server", site.spec.bootstrap, "--topic", topic)

    producer = "org.apache.kafka.tools.ConsoleProducer"
    java(site, producer, *door, "--command-config", str(config), text="one\ntwo\n")
    assert [value for _, value in site.consume("app", topic)] == [b"one", b"two"]

    consumer = "org.apache.kafka.tools.consumer.ConsoleConsumer"
    limits = (
        "--from-beginning",
        "--max-messages",
        "2",
        "--timeout-ms",
        "20000",
        "--group",
        "app-c",
    )
    read = java(site, consumer, *door, "--command-config", str(config), *limits)
    assert read.stdout.split() == ["one", "two"]


def test_app_may_use_any_group_that_begins_with_its_name(site, topic):
    site.produce("app", topic, [(b"k", b"grouped")])
    consumer = Consumer(
        {**site.settings("app"), "group.id": "app-anything", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    message = consumer.poll(20)
    assert message is not None
    assert message.error() is None
    consumer.commit(asynchronous=False)
    consumer.close()


def test_app_may_use_transactions_under_its_own_names(site, topic):
    producer = Producer({**site.settings("app"), "transactional.id": "app-orders"})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce(topic, b"in a transaction")
    producer.commit_transaction(20)
    assert b"in a transaction" in [value for _, value in site.consume("app", topic)]


@pytest.mark.parametrize(
    ("user", "group"),
    [("ingest", "somebody-elses"), ("app", "platform-events"), ("app", "millrace-x")],
)
def test_nobody_may_join_a_foreign_group(site, topic, user, group):
    consumer = Consumer({**site.settings(user), "group.id": group})
    consumer.subscribe([topic])
    message = consumer.poll(20)
    assert message.error().code() == KafkaError.GROUP_AUTHORIZATION_FAILED
    consumer.close()


def test_who_only_reads_can_take_no_number_of_a_gateways(site):
    """At a site whose gateway alone writes: the right that a user had before is taken back."""
    topic = "numbered"
    site.add_topic(topic)
    site.produce("app", topic, [(b"k", b"as before")])
    alone = site.spec.model_copy(update={"direct": False})
    pipeline = TEMPERATURE.model_copy(update={"topics": (topic,), "partitions": 2})
    site.provision(wanted_for_site(alone, [pipeline]))
    assert sent_with_number(site, "gateway", topic) is None
    assert sent_with_number(site, "app", topic) == KafkaError.TOPIC_AUTHORIZATION_FAILED


def sent_with_number(site, user: str, topic: str) -> int | None:
    """None, or the code of the error."""
    forged = [("millrace-producer", "x/lines"), ("millrace-epoch", "1"), ("millrace-seq", "9")]
    told: list[KafkaError | None] = []
    producer = Producer({**site.settings(user), "message.timeout.ms": 10_000})
    producer.produce(topic, b"x", headers=forged, on_delivery=lambda error, _: told.append(error))
    assert producer.flush(15) == 0
    return told[0].code() if told[0] else None
