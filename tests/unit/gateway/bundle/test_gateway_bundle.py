"""What a gateway is handed."""

from __future__ import annotations

import stat
import tarfile
from pathlib import Path

import pytest

from millrace.gateway.bundle.core.bundle_contents import bundle_files
from millrace.gateway.bundle.io.pack_bundle import write_bundle
from millrace.platform.core.platform import Platform
from millrace.secrets.io.passwords import ensure_user
from millrace.sites.core.spec import SiteSpec

SITE = SiteSpec(
    name="plant-a",
    bootstrap="a:9093",
    client={"librdkafka.linger.ms": 1, "java.max.poll.records": 2},
)


def test_the_password_stands_in_one_file_alone():
    files = bundle_files(SITE, "CA", "s3cret")
    assert [name for name, text in files.items() if "s3cret" in text] == ["password.properties"]


def test_settings_are_the_sites_and_the_gateways():
    lines = bundle_files(SITE, "CA", "s3cret")["client.properties"].splitlines()
    assert {"bootstrap.servers=a:9093", "sasl.username=gateway", "linger.ms=1"} <= set(lines)
    assert not [line for line in lines if "max.poll" in line]


@pytest.fixture
def layout(tmp_path: Path) -> Platform:
    layout = Platform(tmp_path)
    layout.pki.mkdir(parents=True)
    layout.ca.write_text("CA\n")
    return layout


def test_a_bundle_is_for_its_owner_alone_packed_and_unpacked(layout):
    file = write_bundle(layout, SITE)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    with tarfile.open(file) as archive:
        modes = {member.name: oct(member.mode) for member in archive}
    folder = modes.pop("plant-a-gateway")
    assert (folder, set(modes.values())) == ("0o700", {"0o600"})


def test_a_bundle_changes_with_the_password_alone(layout):
    first = write_bundle(layout, SITE).read_bytes()
    assert write_bundle(layout, SITE).read_bytes() == first
    layout.user_secret("plant-a", "gateway").unlink()
    ensure_user(layout, "plant-a", "gateway")
    assert write_bundle(layout, SITE).read_bytes() != first
