"""A real cluster provisioned as the central one."""

from __future__ import annotations

import pytest

from millrace.kafka.io.client_errors import RefusedError
from millrace.provisioning.core.site_rights import Topic, Wanted
from millrace.provisioning.io.central_admin import role_settings
from millrace.provisioning.io.provisioner import provision_site
from millrace.relay.core.central_rights import wanted_at_central
from millrace.relay.core.relay_rights import wanted_at_site
from millrace.relay.core.spec import RelaySpec
from millrace.sites.core.central import Central
from tests.integration.conftest import TEMPERATURE
from tests.integration.stands.edge.relays import RelayBed

ARN = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:ingest"


def test_topics_and_rights_of_a_site_are_made_once_and_users_left_alone(site):
    central = Central(bootstrap=site.spec.bootstrap, secret=ARN)
    wanted = wanted_at_central(central, site.spec, [TEMPERATURE])
    first = site.provision(wanted)
    assert f"topic {site.spec.name}.temperature-data: created with 2 partitions" in first
    assert any(line.startswith(f"right: {site.spec.name} may write topic") for line in first)
    assert not any(line.startswith("user ") for line in first)
    assert site.provision(wanted) == []


def test_a_sites_relay_needs_no_more_than_the_sites_rights(site, tmp_path):
    """As on AWS: it logs in under the site's name, and every topic was made beforehand."""
    topic, name = "to-central", site.spec.name
    site.add_topic(topic, 2)
    central = Central(bootstrap=site.spec.bootstrap, secret=ARN)
    pipeline = TEMPERATURE.model_copy(update={"topics": (topic,)})
    relay = RelaySpec(name=name, sites=(name,), topics=(topic,), to="central")
    site.provision(wanted_at_site(relay))
    site.provision(wanted_at_central(central, site.spec, [pipeline]))
    site.provision(Wanted(users=(name,)))
    bed = RelayBed(relay, (site,), site, tmp_path, user=name)
    site.produce("app", topic, [(None, str(number).encode()) for number in range(100)])
    bed.start()
    try:
        bed.await_all(topic)
        assert bed.assert_exactly_once(topic) == 100
    finally:
        bed.kill()


def test_a_role_is_shown_without_anybody_polling(site, monkeypatch):
    """This broker knows no roles, and says so: the token had been made and offered."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    shown = []
    settings = role_settings(site.spec.bootstrap, "eu-central-1")
    token = settings["oauth_cb"]
    settings |= {
        "ssl.ca.location": str(site.layout.ca),
        "oauth_cb": lambda config: shown.append(1) or token(config),
    }
    wanted = Wanted(topics=(Topic(name="t", partitions=1),))
    with pytest.raises(RefusedError, match="OAUTHBEARER"):
        provision_site(site.spec, wanted, settings, site.password_of, timeout_s=10)
    assert shown
