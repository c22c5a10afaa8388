"""A broker's settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.core.broker import broker_settings
from millrace.core.layout import Layout
from millrace.core.site import SiteSpec

LAYOUT = Layout(Path("/home"))
SETTINGS = broker_settings(SiteSpec(name="plant-a", bootstrap="127.0.0.1:19092"), LAYOUT)


def test_no_listener_talks_plain_text():
    protocols = dict(
        pair.split(":") for pair in str(SETTINGS["listener.security.protocol.map"]).split(",")
    )
    listening = {entry.split("://")[0] for entry in str(SETTINGS["listeners"]).split(",")}
    assert listening == set(protocols)
    assert set(protocols.values()) == {"SASL_SSL", "SSL"}


@pytest.mark.parametrize("listener", ["local", "controller"])
def test_listeners_without_password_demand_a_certificate(listener):
    assert SETTINGS[f"listener.name.{listener}.ssl.client.auth"] == "required"


def test_broker_listens_on_this_machine_only_whatever_its_name():
    named = SiteSpec(name="plant-a", bootstrap="localhost:19092")
    settings = broker_settings(named, LAYOUT)
    hosts = [e.split("://")[1].split(":")[0] for e in str(settings["listeners"]).split(",")]
    assert hosts == ["127.0.0.1"] * 3
    assert "CLIENT://localhost:19092" in str(settings["advertised.listeners"])


def test_administrators_of_one_site_are_nobody_at_another():
    assert SETTINGS["super.users"] == "User:plant-a-broker;User:plant-a-admin"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("auto.create.topics.enable", "false"),
        ("allow.everyone.if.no.acl.found", "false"),
        ("log.flush.interval.messages", 1),
        ("unclean.leader.election.enable", "false"),
    ],
)
def test_promises_stand_in_the_settings(key, value):
    assert SETTINGS[key] == value
