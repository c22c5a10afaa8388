"""A site's bundle on a bare machine: one command, and systemd does the rest."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from tests.integration.conftest import RunningSite
from tests.integration.stands.edge.gateways import Device, unpacked_bundle
from tests.machine.box import Box
from tests.support import free_ports, wait_until

pytestmark = pytest.mark.timeout(900)
SERVICE, TOPIC = "millrace-gateway", "measurements"
INSTALL = ("/bin/sh", "/root/bundle/install.sh")


@pytest.fixture(scope="module")
def port() -> int:
    return free_ports(3)


@pytest.fixture(scope="module")
def bundle(
    site: RunningSite, box: Box, port: int, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """As its operator has edited it: addresses that nobody else is reached by."""
    site.add_topic(TOPIC, partitions=1)
    unpacked = unpacked_bundle(site, tmp_path_factory.mktemp("bundle"))
    file = unpacked / "gateway.yaml"
    spec = yaml.safe_load(file.read_text())
    for number, one in enumerate([*spec["inputs"], spec["status"]]):
        one["listen"] = f"127.0.0.1:{port + number}"
    file.write_text(yaml.safe_dump(spec))
    shutil.copytree(unpacked, box.tree / "root" / "bundle")
    return unpacked


def device_at(site: RunningSite, bundle: Path, port: int) -> Device:
    return Device.at("127.0.0.1", port, site.layout.ca, bundle / "device.pem")


def runs(box: Box) -> bool:
    return box.run("systemctl", "is-active", SERVICE).ok


def main_pid(box: Box) -> str:
    return box.run("systemctl", "show", "--value", "--property=MainPID", SERVICE).text.strip()


def is_heard(site: RunningSite, bundle: Path, port: int) -> bool:
    try:
        device_at(site, bundle, port).close()
    except OSError:
        return False
    return True


def test_one_command_installs_it_as_a_service(
    site: RunningSite, box: Box, bundle: Path, port: int
) -> None:
    done = box.run(*INSTALL)
    assert done.ok, done.text
    assert "the gateway runs" in done.text
    wait_until(lambda: is_heard(site, bundle, port), 60, "heard")
    device = device_at(site, bundle, port)
    device.send([b'{"n":1}'])
    assert device.answers(1) == ["1"]
    wait_until(lambda: site.count("app", TOPIC) == 1, 60)
    assert box.run("ps", "-o", "user:20=", "-p", main_pid(box)).text.strip() == SERVICE
    secrets = box.run("stat", "-c", "%U %a", "/etc/millrace/password.properties").text
    assert secrets.strip() == f"{SERVICE} 600"


def test_a_killed_one_is_back_and_a_machine_without_power_delivers_when_it_is_up(
    site: RunningSite, box: Box, bundle: Path, port: int
) -> None:
    before = main_pid(box)
    box.run("kill", "-9", before)
    wait_until(lambda: runs(box) and main_pid(box) not in (before, "0"), 60, "another one")
    wait_until(lambda: is_heard(site, bundle, port), 60, "heard")
    site.freeze()
    try:
        device = device_at(site, bundle, port)
        device.send([b'{"n":2}'])
        assert device.answers(1) == ["2"]
        box.cut_power()
        box.boot()
    finally:
        site.thaw()
    wait_until(lambda: site.count("app", TOPIC) == 2, 60, "delivered")


def test_a_newer_bundle_upgrades_it_and_purge_leaves_nothing(
    site: RunningSite, box: Box, bundle: Path, port: int
) -> None:
    again = box.run(*INSTALL)
    assert again.ok, again.text
    assert "kept /etc/millrace/gateway.yaml" in again.text
    wait_until(lambda: is_heard(site, bundle, port), 60, "heard")
    purged = box.run(*INSTALL, "--purge")
    assert purged.ok, purged.text
    assert not runs(box)
    left = [f"{box.tree}/{place}" for place in ("opt/millrace-gateway", "etc/millrace")]
    assert not [place for place in left if Path(place).exists()]
