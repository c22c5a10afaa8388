"""A new authority: whoever was handed the file of the step before is not locked out."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import pkcs12
from typer.testing import CliRunner

from millrace.base.addresses import LOCAL_NAMES
from millrace.base.errors import MillraceError
from millrace.gateway.bundle.io.local_gateway import hand_over
from millrace.pipelines.io.loader import load_sites
from millrace.platform.core.platform import Platform
from millrace.secrets.cli import app
from millrace.secrets.core.certificates import Role, is_issued_by
from millrace.secrets.io.device_certificates import issue
from millrace.secrets.io.pki import ensure_authority, ensure_certificate
from millrace.secrets.io.succession import (
    AuthorityPlace,
    SuccessionError,
    SuccessionStep,
    begin,
    end,
    switch,
)
from millrace.settings.core.spark_cluster import KEY_STORE_PASSWORD, Cluster
from millrace.stack.io.local_cluster import prepare_cluster
from millrace.stack.io.object_store import ensure_trust_store
from millrace.storage.core.bucket import Bucket
from millrace.storage.io.properties import read_properties
from tests.unit.homes import with_plant_a


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Platform:
    layout = with_plant_a(tmp_path, monkeypatch)
    ensure_authority(layout)
    return layout


class Party:
    """A program: what it was given, as a server and as a client, and as it trusts."""

    def __init__(self, layout: Platform, name: str) -> None:
        self._layout, self.name = layout, name
        self.own = layout.home / f"{name}.pem"
        self.trusts = layout.home / f"{name}-trusts.pem"
        self.restart()

    def restart(self) -> None:
        """It is handed everything anew, as by the next `up` or bundle."""
        ensure_certificate(self._layout, self.own, self.name, Role.PEER, LOCAL_NAMES)
        self.trusts.write_text(self._layout.ca.read_text())


def can_talk(client: Party, server: Party) -> bool:
    """Each checks the other."""
    trust = ssl.create_default_context(cafile=str(client.trusts))
    trust.load_cert_chain(client.own)
    serve = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(server.trusts))
    serve.verify_mode = ssl.CERT_REQUIRED
    serve.load_cert_chain(server.own)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        trust.wrap_bio(to_client, to_server, server_hostname="localhost"),
        serve.wrap_bio(to_server, to_client, server_side=True),
    ]
    done = [False, False]
    for number in (0, 1) * 4:
        try:
            ends[number].do_handshake()
            done[number] = True
        except ssl.SSLWantReadError:
            continue
        except ssl.SSLError:
            return False
    return all(done)


def test_nobody_is_locked_out_while_each_is_restarted_between_two_steps(layout):
    one, other, left_behind = (Party(layout, name) for name in ("one", "other", "behind"))
    for step in (begin, switch, end):
        step(AuthorityPlace(layout))
        for party in (one, other):
            party.restart()
            assert can_talk(one, other), (step, party.name)
            assert can_talk(other, one), (step, party.name)
    assert not can_talk(left_behind, one)
    assert not can_talk(one, left_behind)


def test_what_the_old_one_has_signed_is_made_anew_after_the_switch_and_not_before(layout):
    party = Party(layout, "one")
    before = party.own.read_text()
    begin(AuthorityPlace(layout))
    party.restart()
    assert party.own.read_text() == before
    switch(AuthorityPlace(layout))
    party.restart()
    assert party.own.read_text() != before


def test_steps_are_taken_in_their_order_alone(layout):
    place = AuthorityPlace(layout)
    for step in (switch, end):
        with pytest.raises(SuccessionError, match=r"no new authority has begun.*'begin'"):
            step(place)
    begin(place)
    assert place.step() is SuccessionStep.BEGUN
    for step in (begin, end):
        with pytest.raises(SuccessionError, match=r"has begun.*'switch'"):
            step(place)
    switch(place)
    for step in (begin, switch):
        with pytest.raises(SuccessionError, match=r"has switched.*'end'"):
            step(place)
    end(place)
    assert place.step() is SuccessionStep.NONE
    assert not place.next_key.exists()


def test_a_beginning_that_was_cut_short_is_begun_again(layout):
    place = AuthorityPlace(layout)
    old = layout.ca.read_text()
    begin(place)
    key = place.next_key.read_text()
    layout.ca.write_text(old)
    begin(place)
    assert place.next_key.read_text() == key
    assert place.step() is SuccessionStep.BEGUN


def test_keys_are_their_owners_alone(layout):
    begin(AuthorityPlace(layout))
    assert AuthorityPlace(layout).next_key.stat().st_mode & 0o777 == 0o600
    switch(AuthorityPlace(layout))
    assert layout.ca_key.stat().st_mode & 0o777 == 0o600


def test_an_authority_of_devices_changes_without_the_others(layout):
    first, place = issue(layout, "plant-a", "press").read_text(), AuthorityPlace(layout, "plant-a")
    root = layout.ca.read_text()
    begin(place)
    assert issue(layout, "plant-a", "press").read_text() == first
    switch(place)
    assert issue(layout, "plant-a", "press").read_text() != first
    end(place)
    assert layout.ca.read_text() == root


def test_java_trusts_both_meanwhile(layout):
    bucket = Bucket(name="b", ca_file=layout.ca, trust_store=layout.trust_store)
    begin(AuthorityPlace(layout))
    ensure_trust_store(bucket)
    trusted = pkcs12.load_pkcs12(layout.trust_store.read_bytes(), None).additional_certs
    assert len(trusted) == 2


def said(*words: str) -> str:
    done = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def test_gateways_of_this_machine_are_handed_the_new_one_at_once(layout):
    folder = layout.gateway("plant-a")
    folder.mkdir(parents=True)
    hand_over(layout, load_sites(layout)[0])
    for step in ("begin", "switch", "end"):
        assert "devices.pem is written" in said(step, "--site", "plant-a")
        assert (folder / "devices.pem").read_text() == layout.devices_ca("plant-a").read_text()
    assert "devices of plant-a: until 20" in said("list")
    said("begin")
    assert "root: until 20" in said("list")
    assert "a new one has begun" in said("list")
    assert (folder / "ca.pem").read_text() == layout.ca.read_text()
    with pytest.raises(MillraceError, match="plant-x"):
        said("begin", "--site", "plant-x")


def test_sparks_pages_are_of_the_new_root_though_the_parts_of_the_cluster_keep_their_secret(
    layout: Platform,
) -> None:
    cluster = Cluster(port=7077, secret_file=layout.cluster_secret, apart=True)
    prepare_cluster(layout, cluster)
    secret = cluster.secret_file.read_text()
    begin(AuthorityPlace(layout))
    switch(AuthorityPlace(layout))
    prepare_cluster(layout, cluster)
    settings = read_properties(layout.cluster_folder / "daemons.conf")
    store = (layout.cluster_folder / "spark.p12").read_bytes()
    shown = pkcs12.load_pkcs12(store, settings[KEY_STORE_PASSWORD].encode()).cert
    assert shown
    assert is_issued_by(shown.certificate, ensure_authority(layout).certificate)
    assert cluster.secret_file.read_text() == secret
