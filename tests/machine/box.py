"""A bare Debian machine: a tree made by mmdebstrap, with a systemd of its own (systemd-nspawn)."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.support import wait_until

_PROGRAMS = {"mmdebstrap": "mmdebstrap", "systemd-nspawn": "systemd-container"}
_PACKAGES = "systemd-sysv,dbus,procps,python3-venv,ca-certificates"
_AUTHORITIES = Path("etc/ssl/certs/ca-certificates.crt")
_MAKE_S, _BOOT_S = 300, 60


def make_tree(tree: Path) -> None:
    assert os.geteuid() == 0, "a machine of its own needs root"
    missing = [package for program, package in _PROGRAMS.items() if not shutil.which(program)]
    assert not missing, f"apt-get install --no-install-recommends {' '.join(missing)}"
    command = ("mmdebstrap", "--variant=minbase", f"--include={_PACKAGES}", "bookworm", str(tree))
    subprocess.run(command, check=True, capture_output=True, timeout=_MAKE_S)
    # Whoever this machine trusts, and how it reaches packages of Python.
    shutil.copy(Path("/") / _AUTHORITIES, tree / _AUTHORITIES)
    for file in map(Path, ("/etc/pip.conf", "/root/.config/pip/pip.conf", "/root/.pip/pip.conf")):
        if file.exists():
            shutil.copy(file, tree / "etc" / "pip.conf")


@dataclass
class Box:
    """In the network of the machine it runs on; all else is its own."""

    tree: Path
    process: subprocess.Popen[bytes] | None = None

    def boot(self) -> None:
        with (self.tree.parent / "boot.log").open("ab") as log:
            self.process = subprocess.Popen(
                (str(shutil.which("systemd-nspawn")), f"--directory={self.tree}", *_OPTIONS),
                env={**os.environ, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        wait_until(self.is_up, _BOOT_S, "the machine being up", 0.2)

    def is_up(self) -> bool:
        assert self.process
        assert self.process.poll() is None, (self.tree.parent / "boot.log").read_text()
        return bool(self._init()) and self.run("systemctl", "is-active", "basic.target").ok

    def run(self, *command: str, timeout_s: float = 300) -> Done:
        init = self._init()
        assert init, "the machine is down"
        at_root = ("/bin/sh", "-c", 'cd / && exec "$@"', "sh")
        inside = ("nsenter", "--target", str(init.pid), "--all", *at_root, *command)
        done = subprocess.run(
            inside,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
            env={**os.environ, "HOME": "/root", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
        )
        return Done(done.returncode, done.stdout + done.stderr)

    def cut_power(self) -> None:
        """Nothing in it hears of it."""
        if init := self._init():
            # Of whoever is first in a machine, the kernel ends all the others.
            init.send_signal(signal.SIGKILL)
        if self.process:
            self.process.wait(30)
            self.process = None

    def _init(self) -> psutil.Process | None:
        """The first process in it, as this machine sees it."""
        if self.process is None:
            return None
        below = psutil.Process(self.process.pid).children(recursive=True)
        return next((one for one in below if one.name() == "systemd"), None)


@dataclass(frozen=True)
class Done:
    code: int
    text: str

    @property
    def ok(self) -> bool:
        return self.code == 0


# No systemd here has to know of it.
_OPTIONS = (
    *("--boot", "--quiet", "--register=no", "--keep-unit"),
    *("--resolv-conf=copy-host", "--console=read-only"),
)
