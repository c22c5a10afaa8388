"""A Docker engine: the machine's own, or one that lives in a folder and ends with the tests.

Debian's packages are unpacked, not installed; no registry is needed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tests.support import wait_until

_PACKAGES = ("docker.io", "containerd", "tini")
_PROGRAMS = ("runc", "mmdebstrap")
_POOL = "base=10.212.0.0/16,size=24"
_START_S, _STOP_S = 60, 60


@dataclass
class Engine:
    """`environment` is what a client of it is started with."""

    environment: Mapping[str, str]
    folder: Path | None = None
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def docker(self, *arguments: str, timeout_s: float = 120) -> str:
        return self.call("docker", *arguments, timeout_s=timeout_s).stdout

    def call(
        self,
        *command: str,
        timeout_s: float = 120,
        check: bool = True,
        more: Mapping[str, str] = {},
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command,
            env={**self.environment, **more},
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        words = " ".join(command)
        assert not check or done.returncode == 0, f"{words}\n{done.stdout[-4000:]}{done.stderr}"
        return done

    @cached_property
    def compose(self) -> tuple[str, ...]:
        """Compose 2, or where there is none, Debian's 1.29."""
        if self.call("docker", "compose", "version", check=False).returncode == 0:
            return "docker", "compose"
        assert shutil.which("docker-compose"), (
            "apt-get install --no-install-recommends docker-compose"
        )
        return ("docker-compose",)

    def answers(self) -> bool:
        return self.call("docker", "info", check=False, timeout_s=30).returncode == 0

    def end(self) -> None:
        """One that was there before stays."""
        if self.process is None or self.folder is None:
            return
        self.process.terminate()
        self.process.wait(_STOP_S)
        for place in _mounts_below(self.folder):
            command = ("umount", place)
            subprocess.run(command, check=False, capture_output=True, timeout=_STOP_S)


def find_engine() -> Engine | None:
    """The machine's own, where one answers."""
    if shutil.which("docker") is None:
        return None
    engine = Engine({**os.environ, "DOCKER_BUILDKIT": "1"})
    return engine if engine.answers() else None


def start_engine(folder: Path) -> Engine:
    """`folder` has a short path: sockets lie in it."""
    _check_machine()
    programs = folder / "programs"
    _unpack(programs)
    (folder / "exec").mkdir(exist_ok=True)
    socket = f"unix://{folder}/docker.sock"
    own = {"PATH": _path(programs), "DOCKER_HOST": socket, "DOCKER_BUILDKIT": "1"}
    environment = {**os.environ, **own}
    with (folder / "dockerd.log").open("ab") as log:
        process = subprocess.Popen(
            (str(programs / "usr" / "sbin" / "dockerd"), *_options(folder, socket)),
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    engine = Engine(environment, folder, process)
    wait_until(engine.answers, _START_S, f"an engine ({folder}/dockerd.log)", poll_s=0.5)
    return engine


def _options(folder: Path, socket: str) -> tuple[str, ...]:
    options = {
        "data-root": folder / "data",
        "exec-root": folder / "exec",
        "host": socket,
        "pidfile": folder / "docker.pid",
        "oom-score-adjust": 0,
        # The machine's own rules and bridges stay as they are: containers only talk to each other,
        # and a process hands on what comes to their ports.
        "iptables": "false",
        "ip-forward": "false",
        "ip-masq": "false",
        "bridge": "none",
        "default-address-pool": _POOL,
    }
    return tuple(f"--{name}={value}" for name, value in options.items())


def _mounts_below(folder: Path) -> list[str]:
    """Innermost first."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    places = (line.split()[4] for line in lines)
    return sorted((place for place in places if place.startswith(f"{folder}/")), reverse=True)


def _unpack(programs: Path) -> None:
    if (programs / "usr" / "sbin" / "dockerd").exists():
        return
    packages = programs / "packages"
    packages.mkdir(parents=True, exist_ok=True)
    command = ("apt-get", "download", *_PACKAGES)
    subprocess.run(command, cwd=packages, check=True, capture_output=True, timeout=300)
    for package in packages.glob("*.deb"):
        unpack = ("dpkg", "-x", str(package), str(programs))
        subprocess.run(unpack, check=True, capture_output=True, timeout=120)


def _path(programs: Path) -> str:
    own = (programs / "usr" / "bin", programs / "usr" / "sbin")
    return os.pathsep.join([*map(str, own), os.environ["PATH"]])


def _check_machine() -> None:
    assert os.geteuid() == 0, "an engine of its own needs root; start one as root, or Docker's own"
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    assert not missing, f"apt-get install --no-install-recommends {' '.join(missing)}"
