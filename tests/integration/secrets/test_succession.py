"""A new root at a real broker: who goes on talking to it, and who does not any more."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from millrace.platform.core.platform import Platform
from millrace.provisioning.core.site_rights import wanted_for_site
from millrace.secrets.io.succession import AuthorityPlace, begin, end, switch
from millrace.sites.core.spec import LocalBroker, SiteSpec
from millrace.stack.io.brokers.local_broker import prepare_broker
from tests.callers import administers
from tests.integration.conftest import CHECKOUT, TEMPERATURE, RunningSite
from tests.support import free_ports

_PATIENCE_S = 5


@pytest.fixture
def own_site(tmp_path: Path) -> Iterator[RunningSite]:
    """Not started yet, in the first of three steps."""
    for part in (".jars", "schemas", "infra"):
        (tmp_path / part).symlink_to(CHECKOUT / part)
    bootstrap = f"127.0.0.1:{free_ports(3)}"
    spec = SiteSpec(name="plant-r", bootstrap=bootstrap, local=LocalBroker(memory="256m"))
    layout = Platform(tmp_path)
    running = RunningSite(spec, layout, prepare_broker(spec, layout))
    running.wanted = wanted_for_site(spec, [TEMPERATURE])
    try:
        yield running
    finally:
        running.stop(signal.SIGKILL)


def kept(file: Path, name: str) -> Path:
    """As somebody has it who was handed it then."""
    copy = file.with_name(name)
    copy.write_text(file.read_text())
    return copy


def logs_in(site: RunningSite, ca: Path) -> bool:
    admin = AdminClient({**site.settings("app"), "ssl.ca.location": str(ca)})
    try:
        return "temperature-data" in admin.list_topics(timeout=_PATIENCE_S).topics
    except KafkaException:
        return False


def test_who_was_handed_both_goes_on_and_the_old_one_counts_for_nothing_at_the_end(
    own_site: RunningSite,
) -> None:
    layout, place = own_site.layout, AuthorityPlace(own_site.layout)
    admin = layout.certificate(own_site.spec.name, "admin")
    old_admin, old_ca = kept(admin, "old-admin.pem"), kept(layout.ca, "old-ca.pem")
    begin(place)
    both = kept(layout.ca, "both.pem")
    switch(place)
    own_site.program = prepare_broker(own_site.spec, layout)
    own_site.come_back()
    assert administers(own_site.spec, both, old_admin)
    assert administers(own_site.spec, both, admin)
    assert logs_in(own_site, both)
    assert not logs_in(own_site, old_ca)

    own_site.stop()
    end(place)
    own_site.program = prepare_broker(own_site.spec, layout)
    own_site.come_back()
    assert administers(own_site.spec, layout.ca, admin)
    assert not administers(own_site.spec, layout.ca, old_admin)
    assert logs_in(own_site, both)
