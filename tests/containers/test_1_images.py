"""What is in an image, and what is not."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.containers.conftest import CHECKOUT
from tests.containers.engine import Engine
from tests.containers.images import TARGETS, build

pytestmark = pytest.mark.timeout(5400)
# What a build is handed to reach the world.
_HANDED = ("/etc/pip.conf", "/etc/uv", "/root/.m2", "/root/.cache", "/run/secrets")


def test_the_dockerfile_is_clean() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    file = CHECKOUT / "infra" / "docker" / "Dockerfile"
    done = subprocess.run((hadolint, file), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("target", TARGETS)
def test_an_image_has_nobodys_rights_and_asks_after_its_health(
    engine: Engine, images: Mapping[str, str], target: str
) -> None:
    made = json.loads(engine.docker("inspect", images[target]))[0]["Config"]
    assert made["User"] == "10001:10001"
    assert made["Healthcheck"]["Test"] == ["CMD", "millrace-health"]


@pytest.mark.parametrize("target", TARGETS)
def test_nothing_that_a_build_was_handed_is_left_in_its_image(
    engine: Engine, images: Mapping[str, str], target: str
) -> None:
    look = " ".join(f"{place}*" for place in _HANDED)
    command = ("--rm", "--user", "0", "--entrypoint", "sh", images[target], "-c")
    found = engine.docker("run", "--network", "none", *command, f"ls -d {look} 2>/dev/null; true")
    assert found == ""


@pytest.mark.parametrize("target", ["edge", "spark", "airflow"])
def test_the_code_of_an_image_is_not_the_programs_to_change(
    engine: Engine, images: Mapping[str, str], target: str
) -> None:
    command = ("--rm", "--network", "none", "--entrypoint", "sh", images[target], "-c")
    found = engine.docker("run", *command, "find src .venv* -writable -not -type l | head -3")
    assert found == ""


def test_another_base_with_its_own_python_makes_the_image_of_emr(
    engine: Engine, images: Mapping[str, str], base: str, names: str
) -> None:
    """EMR's own cannot be had without AWS: one with Python stands in."""
    tag = f"{names}/emr:test"
    try:
        build(engine, CHECKOUT, "emr", tag, {"BASE": base, "EMR": images["spark"]})
        made = json.loads(engine.docker("inspect", tag))[0]["Config"]
    finally:
        engine.call("docker", "rmi", "--force", tag, check=False)
    assert made["User"] == "hadoop:hadoop"


def test_debians_packages_may_come_from_an_archive_that_stands_still(
    engine: Engine, base: str, names: str
) -> None:
    tag, archive = f"{names}/base:test", "https://archive.example/debian/20251101T000000Z"
    look = ("sh", tag, "-c", "cat /etc/apt/sources.list; ls /etc/apt/sources.list.d")
    try:
        build(engine, CHECKOUT, "base", tag, {"BASE": base, "DEBIAN": archive})
        said = engine.docker("run", "--rm", "--network", "none", "--entrypoint", *look)
    finally:
        engine.call("docker", "rmi", "--force", tag, check=False)
    assert said == f"deb {archive} bookworm main\n"
