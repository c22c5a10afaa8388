"""Reasons that librdkafka words in more than one way. What it says is taken from real refusals."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from millrace.kafka.io.client_errors import RefusedError, UnreachableError, Watch
from millrace.sites.core.spec import SiteSpec

ADDRESS = "sasl_ssl://127.0.0.1:19092/bootstrap: "
# librdkafka's public codes, spelt as if they were private by its binding.
SSL, TRANSPORT = KafkaError._SSL, KafkaError._TRANSPORT  # noqa: SLF001
TIMED_OUT, ALL_DOWN = KafkaError._MSG_TIMED_OUT, KafkaError._ALL_BROKERS_DOWN  # noqa: SLF001
SETTINGS = {
    "security.protocol": "SASL_SSL",
    "bootstrap.servers": "127.0.0.1:19092",
    "ssl.ca.location": "/pki/other.pem",
    "ssl.certificate.location": "/pki/mine.pem",
}


def explained(code: int, text: str) -> Exception:
    watch = Watch(SiteSpec(name="plant-a", bootstrap="127.0.0.1:19092"), SETTINGS)
    watch(KafkaError(code, ADDRESS + text))
    watch(KafkaError(ALL_DOWN, "1/1 brokers are down"))
    return watch.explain(KafkaError(TIMED_OUT), "temperature-data")


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (
            SSL,
            "SSL handshake failed: error:0A000086:SSL routines::certificate verify failed: broker "
            "certificate could not be verified (after 3ms in state SSL_HANDSHAKE)",
        ),
        (
            TRANSPORT,
            "error:0A000086:SSL routines::certificate verify failed "
            "(after 1ms in state SSL_HANDSHAKE)",
        ),
    ],
)
def test_another_ca_is_named_however_it_is_reported(code: int, text: str) -> None:
    error = explained(code, text)
    assert isinstance(error, RefusedError)
    assert "ssl.ca.location=/pki/other.pem" in str(error)


def test_a_certificate_that_the_broker_refuses_is_ours() -> None:
    error = explained(
        TRANSPORT,
        "error:0A00045C:SSL routines::tlsv13 alert certificate required: SSL alert number 116",
    )
    assert isinstance(error, RefusedError)
    assert "ssl.certificate.location=/pki/mine.pem" in str(error)


def test_a_lost_connection_is_no_refusal() -> None:
    assert isinstance(explained(TRANSPORT, "Disconnected"), UnreachableError)
