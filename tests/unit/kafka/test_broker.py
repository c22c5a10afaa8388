"""A broker's settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.kafka.core.broker_settings import broker_settings
from millrace.platform.core.platform import Platform
from millrace.sites.core.spec import LocalBroker, SiteSpec

LAYOUT = Platform(Path("/home"))
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


def cluster(brokers: int) -> SiteSpec:
    local = LocalBroker(brokers=brokers)
    return SiteSpec(name="centre", bootstrap="127.0.0.1:19292", local=local)


@pytest.mark.parametrize(
    ("brokers", "copies", "in_sync", "voters"),
    [(1, 1, 1, 1), (2, 2, 1, 1), (3, 3, 2, 3), (5, 3, 2, 3)],
)
def test_three_brokers_survive_the_loss_of_one(brokers, copies, in_sync, voters):
    settings = broker_settings(cluster(brokers), LAYOUT)
    for key, value in settings.items():
        if key.endswith("replication.factor"):
            assert value == copies, key
        if key.endswith(("min.isr", "min.insync.replicas")):
            assert value == in_sync, key
    assert len(str(settings["controller.quorum.voters"]).split(",")) == voters


def test_a_broker_after_the_controllers_is_none_and_shares_no_port():
    listeners = [broker_settings(cluster(4), LAYOUT, node)["listeners"] for node in (1, 2, 3, 4)]
    ports = [entry.rpartition(":")[2] for ones in listeners for entry in str(ones).split(",")]
    assert len(set(ports)) == len(ports) == 11
    assert broker_settings(cluster(4), LAYOUT, 4)["process.roles"] == "broker"
    assert "CONTROLLER://" not in str(listeners[3])


def test_only_a_broker_alone_syncs_each_write():
    assert "log.flush.interval.messages" in broker_settings(cluster(1), LAYOUT)
    assert "log.flush.interval.messages" not in broker_settings(cluster(3), LAYOUT)


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
