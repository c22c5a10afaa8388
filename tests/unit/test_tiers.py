"""Every test belongs to a run: to `make test`, or, marked `long`, to `make test-all`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
TESTS = CHECKOUT / "tests"
TIERS = {file.relative_to(TESTS).parts[0] for file in TESTS.rglob("test_*.py")}
# They need what not every machine has: root, a Docker engine, a chromium, the program terraform.
ON_THEIR_OWN = {"browser", "containers", "machine", "terraform"}
# The make that runs these tests gives them to its children.
_OF_MAKE = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES", "FULL"}


def pytest_commands(target: str) -> list[str]:
    """What make would run."""
    own = {name: value for name, value in os.environ.items() if name not in _OF_MAKE}
    command = ["make", "--dry-run", "--no-print-directory", target]
    done = subprocess.run(
        command, cwd=CHECKOUT, env=own, capture_output=True, text=True, check=True
    )
    return [line for line in done.stdout.splitlines() if " -m pytest " in line]


def tiers_of(commands: list[str]) -> set[str]:
    return {tier for tier in TIERS if any(f"tests/{tier}" in one.split() for one in commands)}


def test_make_test_runs_every_tier_but_those_that_not_every_machine_can() -> None:
    assert tiers_of(pytest_commands("test")) == TIERS - ON_THEIR_OWN


@pytest.mark.parametrize("tier", sorted(TIERS))
def test_each_tier_has_a_target_of_its_name(tier: str) -> None:
    assert tiers_of(pytest_commands(tier)) == {tier}


def test_make_test_all_runs_the_same_tiers_with_all_that_is_long() -> None:
    commands = pytest_commands("test-all")
    assert tiers_of(commands) == TIERS - ON_THEIR_OWN
    assert [one for one in commands if "--full" not in one.split()] == []


@pytest.mark.parametrize(("words", "kept"), [((), {"short"}), (("--full",), {"short", "long"})])
def test_a_long_test_is_left_out_and_not_skipped(
    tmp_path: Path, words: tuple[str, ...], kept: set[str]
) -> None:
    (tmp_path / "test_two.py").write_text(
        "import pytest\ndef test_short(): ...\n@pytest.mark.long\ndef test_long(): ...\n"
    )
    settings = [
        "-c",
        str(CHECKOUT / "pyproject.toml"),
        "-p",
        "tests.conftest",
        "-p",
        "no:cacheprovider",
    ]
    command = [
        sys.executable,
        "-m",
        "pytest",
        *settings,
        "-v",
        str(tmp_path / "test_two.py"),
        *words,
    ]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    found = {name for name in ("short", "long") if f"::test_{name} PASSED" in done.stdout}
    assert found == kept, done.stdout + done.stderr
    assert "skipped" not in done.stdout
