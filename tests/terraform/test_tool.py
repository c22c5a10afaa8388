"""A machine that cannot run these tests says so, and what it lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.terraform.support.tool import UnfitError, check_terraform, cli_environment, find_tflint


def test_a_machine_without_terraform_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UnfitError, match="no 'terraform' is on the PATH"):
        check_terraform()


def test_an_old_terraform_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "terraform"
    program.write_text("""#!/bin/sh\necho '{"terraform_version": "1.9.8"}'\n""")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(UnfitError, match=r"terraform is 1\.9\.8"):
        check_terraform()


def test_a_machine_without_tflint_is_told_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(UnfitError, match=r"go install github\.com/terraform-linters/tflint@v"):
        find_tflint()


def test_a_mirror_without_the_provider_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERRAFORM_MIRROR", str(tmp_path))
    with pytest.raises(UnfitError, match=f"TERRAFORM_MIRROR={tmp_path} holds no"):
        cli_environment(tmp_path)


def test_a_mirror_is_told_to_terraform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mirror = tmp_path / "mirror"
    (mirror / "example.org" / "hashicorp" / "aws" / "5.100.0").mkdir(parents=True)
    monkeypatch.setenv("TERRAFORM_MIRROR", str(mirror))
    settings = cli_environment(tmp_path)["TF_CLI_CONFIG_FILE"]
    assert f'path = "{mirror}"' in Path(settings).read_text()
