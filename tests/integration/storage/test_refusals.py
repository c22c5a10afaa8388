"""Who is refused learns why."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Producer

from millrace.kafka.io.client_errors import (
    RefusedError,
    SiteError,
    UnreachableError,
    Watch,
    watched,
)
from millrace.platform.core.platform import Platform
from millrace.secrets.core.certificates import Role
from millrace.secrets.io.pki import ensure_authority, ensure_certificate
from millrace.sites.core.spec import ClientSettings


def refusal(site, settings: ClientSettings, topic: str = "temperature-data") -> SiteError:
    """What our code tells the one who tries to produce with such settings."""
    watch = Watch(site.spec, settings)
    patience = {"message.timeout.ms": 1500, "topic.metadata.propagation.max.ms": 500}
    producer = Producer({**watched(settings, watch), **patience})
    answers: list[KafkaError | None] = []
    producer.produce(topic, b"x", on_delivery=lambda error, _: answers.append(error))
    deadline = time.monotonic() + 10
    while not answers and time.monotonic() < deadline:
        producer.poll(0.1)
    assert answers, "neither delivered nor refused"
    assert answers[0] is not None, "the message was taken"
    return watch.explain(answers[0], topic)


def test_wrong_password_is_refused_and_named(site):
    error = refusal(site, {**site.settings("app"), "sasl.password": "guessed"})
    assert isinstance(error, RefusedError)
    assert "wrong password for user 'app'" in str(error)
    assert "plant-t" in str(error)
    assert "guessed" not in str(error)


def test_unknown_user_is_refused(site):
    error = refusal(site, {**site.settings("app"), "sasl.username": "nobody"})
    assert "'nobody'" in str(error)
    assert "no such user" in str(error)


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SASL_PLAINTEXT"])
def test_client_without_tls_is_refused_and_told_so(site, protocol):
    error = refusal(site, {**site.settings("app"), "security.protocol": protocol})
    assert isinstance(error, RefusedError)
    assert "TLS only" in str(error)
    assert protocol in str(error)


def test_client_that_trusts_another_ca_refuses_the_broker(site, tmp_path: Path):
    other = Platform(tmp_path)
    ensure_authority(other)
    error = refusal(site, {**site.settings("app"), "ssl.ca.location": str(other.ca)})
    assert isinstance(error, RefusedError)
    assert f"ssl.ca.location={other.ca}" in str(error)


def test_user_without_right_is_refused_and_named(site):
    error = refusal(site, site.settings("ingest"))
    assert isinstance(error, RefusedError)
    assert "user 'ingest' has no right to use topic 'temperature-data'" in str(error)


def test_weaker_mechanism_is_refused(site):
    error = refusal(site, {**site.settings("app"), "sasl.mechanism": "PLAIN"})
    assert "SCRAM-SHA-512" in str(error)


def test_administrators_door_stays_shut_without_a_certificate(site):
    keys = ("bootstrap.servers", "security.protocol", "ssl.ca.location")
    error = refusal(site, {key: site.admin[key] for key in keys})
    assert "certificate" in str(error)


def test_certificate_of_another_site_is_no_administrator(site):
    """All sites share one CA; being known is not being allowed."""
    foreign = ensure_certificate(
        site.layout, site.layout.certificate("plant-z", "admin"), "plant-z-admin", Role.CLIENT
    )
    settings = {**site.admin, "ssl.certificate.location": str(foreign)}
    error = refusal(site, {**settings, "ssl.key.location": str(foreign)})
    assert isinstance(error, RefusedError)
    assert "no right" in str(error)


def test_nobody_home_is_unreachable_not_refused(site):
    error = refusal(site, {**site.settings("app"), "bootstrap.servers": "127.0.0.1:1"})
    assert isinstance(error, UnreachableError)
    assert "127.0.0.1:1" in str(error)


def test_topics_do_not_come_by_themselves(site):
    """Also one who may do everything creates a topic on purpose only."""
    error = refusal(site, site.admin, topic="misspelt")
    assert "no topic 'misspelt'" in str(error)
