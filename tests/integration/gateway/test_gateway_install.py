"""A site's bundle, installed as on a bare machine: below a folder of its own, without systemd."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.integration.conftest import RunningSite
from tests.integration.stands.edge.gateways import Device, unpacked_bundle
from tests.support import free_ports, wait_until


@pytest.fixture
def bundle(site: RunningSite, tmp_path: Path) -> Path:
    return unpacked_bundle(site, tmp_path)


def install(bundle: Path, root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", bundle / "install.sh", "--root", root, "--no-service", *options],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_it_is_installed_takes_messages_is_upgraded_and_removed(site, bundle, tmp_path):
    site.add_topic("measurements", partitions=1)
    root = tmp_path / "root"
    done = install(bundle, root)
    assert done.returncode == 0, done.stderr
    assert "lines: tcp at 0.0.0.0:7001 (TLS) -> measurements" in done.stdout
    file = root / "etc/millrace/gateway.yaml"
    first = free_ports(3)
    spec = yaml.safe_load(file.read_text())
    spec["data"] = str(root / "var/lib/millrace")
    for number, one in enumerate([*spec["inputs"], spec["status"]]):
        one["listen"] = f"127.0.0.1:{first + number}"
    file.write_text(yaml.safe_dump(spec))

    program = [root / "opt/millrace-gateway/current/venv/bin/python", "-m"]
    command = [*program, "millrace.gateway", "run", file]
    log = (tmp_path / "log").open("wb")
    process = subprocess.Popen(command, stdout=log, stderr=log, env={"PATH": os.environ["PATH"]})
    try:
        wait_until(lambda: b"is ready" in (tmp_path / "log").read_bytes(), 30)
        device = Device.at("127.0.0.1", first, site.layout.ca, bundle / "device.pem")
        device.send([b'{"n":1}'])
        assert device.answers(1) == ["1"]
        wait_until(lambda: site.count("app", "measurements") == 1)
        site.freeze()
        device.send([b'{"n":2}'])
        assert device.answers(1) == ["2"]
    finally:
        process.terminate()
        process.wait(30)
        site.thaw()

    again = install(bundle, root)
    assert "kept" in again.stdout
    assert yaml.safe_load(file.read_text()) == spec
    refused = install(bundle, root, "--purge")
    assert refused.returncode == 1
    assert "messages wait to be delivered" in refused.stderr
    assert install(bundle, root, "--purge", "--force").returncode == 0
    assert not file.exists()
    assert not (root / "opt/millrace-gateway").exists()


def test_an_option_that_there_is_not_is_told_of(bundle, tmp_path):
    wrong = install(bundle, tmp_path / "root", "--everything")
    assert wrong.returncode == 2
    assert "there is no option '--everything'" in wrong.stderr
