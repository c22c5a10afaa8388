"""Provisioning a real broker."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from millrace.kafka.io.client_errors import RefusedError, UnreachableError
from millrace.provisioning.core.site_rights import (
    FewerPartitionsError,
    Topic,
    Wanted,
    wanted_for_site,
)
from millrace.provisioning.io.provisioner import provision_site
from tests.integration.conftest import TEMPERATURE


def test_provisioning_twice_changes_nothing(site):
    assert site.provision(site.wanted) == []


def test_topic_grows_and_never_shrinks(site):
    grown = [Wanted(topics=(Topic(name="grows", partitions=count),)) for count in (1, 3)]
    assert site.provision(grown[0]) == ["topic grows: created with 1 partitions"]
    assert site.provision(grown[1]) == ["topic grows: grown from 1 to 3 partitions"]
    with pytest.raises(FewerPartitionsError, match="partitions: 3"):
        site.provision(grown[0])


def test_topic_setting_is_brought_to_what_is_asked_for(site):
    def wanted(hours: int) -> Wanted:
        settings = {"retention.ms": str(hours * 3_600_000)}
        return Wanted(topics=(Topic(name="kept", partitions=1, settings=settings),))

    site.provision(wanted(1))
    assert site.provision(wanted(1)) == []
    assert site.provision(wanted(2)) == ["topic kept: set retention.ms=7200000"]


def test_provisioning_at_several_places_at_once_comes_to_the_same(site):
    pipeline = TEMPERATURE.model_copy(update={"topics": ("raced",), "partitions": 3})
    wanted = wanted_for_site(site.spec, [pipeline])
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: site.provision(wanted), range(4)))
    created = [line for lines in done for line in lines if line.startswith("topic raced")]
    assert created == ["topic raced: created with 3 partitions"]
    assert site.provision(wanted) == []


def test_unreachable_site_is_named(site):
    away = {**site.admin, "bootstrap.servers": "127.0.0.1:1"}
    with pytest.raises(UnreachableError, match=r"plant-t.*127\.0\.0\.1:1.*refused"):
        provision_site(site.spec, site.wanted, away, site.password_of, timeout_s=2)


def test_users_door_is_no_way_to_administrate(site):
    """An ordinary user sees nothing to change, and may change nothing."""
    with pytest.raises(RefusedError):
        provision_site(site.spec, site.wanted, site.settings("app"), site.password_of)
