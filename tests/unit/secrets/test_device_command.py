"""`millrace site device`, as a person types it."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from millrace.platform.core.platform import Platform
from millrace.secrets.core.revoked import revoked_in
from millrace.secrets.io.pki import ensure_authority
from millrace.site_changes.cli.site_command import app
from tests.unit.homes import with_plant_a


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Platform:
    return with_plant_a(tmp_path, monkeypatch)


def said(*words: str) -> str:
    done = CliRunner().invoke(app, ["device", *words], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def test_a_device_is_issued_listed_revoked_and_issued_anew(layout):
    file = Path(said("issue", "plant-a", "press-7").strip())
    assert file == layout.device("plant-a", "press-7")
    first = file.read_text()
    assert said("issue", "plant-a", "press-7").strip() == str(file)
    assert file.read_text() == first
    assert "PRIVATE KEY" not in said("list", "plant-a")
    assert str(layout.revoked("plant-a")) in said("revoke", "plant-a", "press-7")
    assert len(revoked_in(layout.revoked("plant-a").read_text())) == 1
    said("issue", "plant-a", "press-7")
    assert file.read_text() != first
    lines = said("list", "plant-a").splitlines()
    assert ["revoked" in line for line in lines] == [False, True]


def test_the_gateway_of_this_machine_has_the_list_at_once(layout):
    folder = layout.gateway("plant-a")
    folder.mkdir(parents=True)
    ensure_authority(layout)
    said("issue", "plant-a", "press-7")
    said("revoke", "plant-a", "press-7")
    assert (folder / "revoked.txt").read_text() == layout.revoked("plant-a").read_text()
    assert (folder / "devices.pem").read_text() == layout.devices_ca("plant-a").read_text()
