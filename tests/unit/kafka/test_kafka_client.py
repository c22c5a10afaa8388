from __future__ import annotations

from pathlib import Path

from millrace.kafka.core.kafka_client import (
    as_properties,
    inline_java_settings,
    java_settings,
    librdkafka_settings,
)
from millrace.sites.core.spec import SiteSpec

CA = Path("/pki/ca.pem")


def site(**client: str | int | float | bool) -> SiteSpec:
    return SiteSpec(name="plant-a", bootstrap="127.0.0.1:19092", client=dict(client))


def test_every_client_encrypts_and_authenticates() -> None:
    for settings in (
        librdkafka_settings(site(), CA, "app", "pw"),
        java_settings(site(), CA, Path("/secrets/app")),
        inline_java_settings(site(), CA, "app", "pw"),
    ):
        assert settings["security.protocol"] == "SASL_SSL"
        assert settings["sasl.mechanism"] == "SCRAM-SHA-512"


def test_settings_for_jobs_hold_no_password() -> None:
    text = as_properties(java_settings(site(), CA, Path("/secrets/app.properties")))
    assert "${file:/secrets/app.properties:jaas}" in text
    assert "password" not in text


def test_a_site_s_own_settings_reach_every_client() -> None:
    extra = site(**{"socket.keepalive.enable": True})
    assert librdkafka_settings(extra, CA, "a", "p")["socket.keepalive.enable"] is True
    assert java_settings(extra, CA, Path("/s"))["socket.keepalive.enable"] == "true"


def test_a_setting_of_one_client_reaches_that_one_alone() -> None:
    extra = site(**{"java.max.poll.records": 5, "librdkafka.queued.min.messages": 7})
    for_java = java_settings(extra, CA, Path("/s"))
    for_librdkafka = librdkafka_settings(extra, CA, "a", "p")
    assert for_java["max.poll.records"] == "5"
    assert for_librdkafka["queued.min.messages"] == 7
    assert "queued.min.messages" not in for_java
    assert "max.poll.records" not in for_librdkafka
