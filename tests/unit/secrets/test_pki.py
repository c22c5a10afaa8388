"""The local CA and what it signs."""

from __future__ import annotations

import shutil
import ssl
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from millrace.base.addresses import LOCAL_NAMES
from millrace.platform.core.platform import Platform
from millrace.secrets.core import certificates
from millrace.secrets.core.certificates import Authority, Role
from millrace.secrets.io.device_certificates import issue
from millrace.secrets.io.pki import (
    BrokenPkiError,
    ensure_administrator,
    ensure_authority,
    ensure_certificate,
    ensure_server_certificate,
)
from millrace.secrets.io.succession import AuthorityPlace, begin, end, switch
from millrace.sites.core.spec import SiteSpec
from millrace.storage.io.files import write_atomic


@pytest.fixture
def layout(tmp_path: Path) -> Platform:
    return Platform(tmp_path)


def make(layout: Platform, name: str = "plant-a-broker") -> Path:
    file = layout.broker_certificate("plant-a")
    return ensure_certificate(layout, file, name, Role.PEER, LOCAL_NAMES)


def leaf_of(file: Path) -> x509.Certificate:
    return certificates.read_certificate(file.read_text())


def test_one_file_serves_key_leaf_and_ca(layout):
    file = make(layout)
    ssl.create_default_context(cafile=str(layout.ca)).load_cert_chain(file)
    assert file.read_text().count("BEGIN CERTIFICATE") == 2
    assert "BEGIN PRIVATE KEY" in file.read_text()


def test_leaf_names_its_owner_and_this_machine(layout):
    leaf = leaf_of(make(layout))
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert leaf.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value == "plant-a-broker"
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    addresses = [str(address) for address in names.get_values_for_type(x509.IPAddress)]
    assert addresses == ["127.0.0.1", "::1"]


def test_making_twice_makes_nothing_new(layout):
    first = make(layout).read_bytes(), layout.ca.read_bytes()
    assert (make(layout).read_bytes(), layout.ca.read_bytes()) == first


def test_everything_is_for_its_owner_only(layout):
    make(layout)
    ensure_server_certificate(layout, "airflow", LOCAL_NAMES)
    issue(layout, "plant-a", "press")
    every = [*layout.var.rglob("*")]
    modes = {stat.S_IMODE(path.stat().st_mode) for path in every if path.is_file()}
    ours = [path for path in every if path.is_dir() and path != layout.broker("plant-a").parent]
    folders = {stat.S_IMODE(path.stat().st_mode) for path in ours}
    assert (modes, folders) == ({0o600}, {0o700})


@pytest.mark.parametrize("keep_bytes", [0, 100, 400], ids=["empty", "half a key", "key only"])
def test_half_a_leaf_is_made_again(layout, keep_bytes):
    file = make(layout)
    file.write_bytes(file.read_bytes()[:keep_bytes])
    make(layout)
    ssl.create_default_context().load_cert_chain(file)


def test_leaf_is_renewed_in_time(layout):
    file = make(layout)
    authority = ensure_authority(layout)
    key = certificates.new_key()
    long_ago = datetime.now(UTC) - timedelta(days=825 - 59)
    old = certificates.make_leaf(authority, key, "plant-a-broker", long_ago, Role.PEER, LOCAL_NAMES)
    chain = certificates.certificate_pem(old) + layout.ca.read_text()
    write_atomic(file, certificates.key_pem(key) + chain)
    make(layout)
    assert leaf_of(file).not_valid_after_utc > datetime.now(UTC) + timedelta(days=800)


ELSEWHERE = SiteSpec(name="plant-x", bootstrap="kafka.plant-x.example:9093")


def old_administrator(layout: Platform, authority: Authority) -> Path:
    """Its end is near."""
    key, long_ago = certificates.new_key(), datetime.now(UTC) - timedelta(days=825 - 59)
    old = certificates.make_leaf(authority, key, "plant-x-admin", long_ago, Role.CLIENT)
    file = layout.certificate("plant-x", "admin")
    chain = certificates.certificate_pem(old) + certificates.certificate_pem(authority.certificate)
    write_atomic(file, certificates.key_pem(key) + chain)
    return file


def test_an_administrator_of_a_cluster_elsewhere_is_renewed_in_time(layout):
    file = old_administrator(layout, ensure_authority(layout))
    ensure_administrator(layout, ELSEWHERE)
    assert leaf_of(file).not_valid_after_utc > datetime.now(UTC) + timedelta(days=800)


def test_an_administrator_of_a_cluster_elsewhere_goes_over_to_a_new_root(layout):
    ensure_administrator(layout, ELSEWHERE)
    file, place = layout.certificate("plant-x", "admin"), AuthorityPlace(layout)
    begin(place)
    switch(place)
    ensure_administrator(layout, ELSEWHERE)
    end(place)
    leaf_of(file).verify_directly_issued_by(ensure_authority(layout).certificate)


def test_an_administrator_that_somebody_else_has_signed_is_left_alone(layout, tmp_path):
    ensure_authority(layout)
    file = old_administrator(layout, ensure_authority(Platform(tmp_path / "other")))
    before = file.read_text()
    ensure_administrator(layout, ELSEWHERE)
    assert file.read_text() == before
    file.write_text(before[:100])
    ensure_administrator(layout, ELSEWHERE)
    assert file.read_text() == before[:100]


def test_where_the_root_is_not_an_administrator_is_left_alone(layout):
    file = old_administrator(layout, ensure_authority(layout))
    layout.ca_key.unlink()
    before = file.read_text()
    ensure_administrator(layout, ELSEWHERE)
    assert file.read_text() == before


def test_leaf_of_another_name_is_not_taken(layout):
    make(layout, "somebody-else")
    assert "plant-a-broker" in leaf_of(make(layout)).subject.rfc4514_string()


def test_leaf_of_another_ca_is_made_again(layout, tmp_path):
    foreign = make(Platform(tmp_path / "other"))
    ensure_authority(layout)
    write_atomic(layout.broker_certificate("plant-a"), foreign.read_text())
    leaf_of(make(layout)).verify_directly_issued_by(ensure_authority(layout).certificate)


def test_ca_whose_certificate_is_lost_is_made_from_its_key(layout):
    leaf = leaf_of(make(layout))
    layout.ca.unlink()
    leaf.verify_directly_issued_by(ensure_authority(layout).certificate)


@pytest.mark.parametrize("text", ["", "-----BEGIN CERTIFICATE-----\nnonsense"])
def test_broken_ca_is_never_replaced_in_silence(layout, text):
    make(layout)
    layout.ca.write_text(text)
    with pytest.raises(BrokenPkiError, match="backup"):
        make(layout)


def test_lost_ca_key_is_an_error_that_names_it(layout):
    make(layout)
    layout.ca_key.unlink()
    with pytest.raises(BrokenPkiError, match=r"ca-key\.pem") as told:
        make(layout)
    folders = str(told.value).partition("or delete ")[2].split(" and start")[0]
    for folder in folders.split(" and "):
        shutil.rmtree(folder)
    assert make(layout).exists()


def test_ca_of_another_key_is_an_error(layout, tmp_path):
    make(layout)
    ensure_authority(Platform(tmp_path / "other"))
    layout.ca.write_text(Platform(tmp_path / "other").ca.read_text())
    with pytest.raises(BrokenPkiError, match="does not fit"):
        make(layout)


def test_web_server_gets_chain_and_key_that_fit(layout):
    chain, key = ensure_server_certificate(layout, "airflow", LOCAL_NAMES)
    assert (chain, key) == (layout.pki / "airflow/cert.pem", layout.pki / "airflow/key.pem")
    ssl.create_default_context().load_cert_chain(chain, key)
    before = chain.read_bytes()
    ensure_server_certificate(layout, "airflow", LOCAL_NAMES)
    assert chain.read_bytes() == before


def test_a_key_of_the_ca_from_before_is_moved_and_signs_on(layout):
    file = make(layout)
    before = file.read_text()
    layout.ca_key.rename(layout.pki / "ca-key.pem")
    assert make(layout).read_text() == before
    assert layout.ca_key.exists()
    assert not (layout.pki / "ca-key.pem").exists()
