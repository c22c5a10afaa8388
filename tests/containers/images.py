"""Builds the images. What this machine needs to reach the world is handed in, and stays in none."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.containers.engine import Engine

TARGETS = (
    "edge",
    "kafka",
    "spark",
    "airflow",
    "postgres",
    "object-store",
    "schema-registry",
)
LOCAL_BASE = "millrace-base:bookworm"
_BUILD_S, _PULL_S, _BASE_S = 1800, 120, 600
_CERTIFICATES = Path("/etc/ssl/certs")
# Of these the first that is there.
_HANDED: Mapping[str, tuple[Path, ...]] = {
    "certificates": (_CERTIFICATES / "ca-certificates.crt",),
    "java-certificates": (_CERTIFICATES / "java" / "cacerts",),
    "pip": (Path.home() / ".config/pip/pip.conf", Path.home() / ".pip/pip.conf"),
    "uv": (Path.home() / ".config/uv/uv.toml", Path("/etc/uv/uv.toml")),
    "maven": (Path.home() / ".m2/settings.xml",),
}


def find_base(engine: Engine, checkout: Path, folder: Path) -> str:
    """The one that is pinned, or where no registry is, one made of Debian's packages."""
    dockerfile = (checkout / "infra" / "docker" / "Dockerfile").read_text()
    pinned = next(
        line.removeprefix("ARG BASE=")
        for line in dockerfile.splitlines()
        if line.startswith("ARG BASE=")
    )
    for there in (("image", "inspect", LOCAL_BASE), ("pull", pinned)):
        if engine.call("docker", *there, timeout_s=_PULL_S, check=False).returncode == 0:
            return there[-1]
    return _make_base(engine, folder)


def _make_base(engine: Engine, folder: Path) -> str:
    archive = folder / "base.tar"
    command = ("mmdebstrap", "--variant=minbase", "bookworm", str(archive))
    subprocess.run(command, check=True, capture_output=True, timeout=_BASE_S)
    engine.docker("import", str(archive), LOCAL_BASE, timeout_s=_BASE_S)
    archive.unlink()
    return LOCAL_BASE


def build(
    engine: Engine, checkout: Path, target: str, tag: str, arguments: Mapping[str, str]
) -> None:
    given = (part for key, value in arguments.items() for part in ("--build-arg", f"{key}={value}"))
    command = ("docker", "build", "--network", "host", "--target", target, "--tag", tag, *given)
    file = ("--file", str(checkout / "infra" / "docker" / "Dockerfile"))
    engine.call(*command, *file, *_secrets(), str(checkout), timeout_s=_BUILD_S)


def _secrets() -> list[str]:
    found = {
        name: next((place for place in places if place.is_file()), None)
        for name, places in _HANDED.items()
    }
    named = (f"id={name},src={place}" for name, place in found.items() if place)
    return [part for one in named for part in ("--secret", one)]
