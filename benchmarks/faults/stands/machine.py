"""A network and disks that are ours alone: they end with this process, whatever happens to it."""

from __future__ import annotations

import ctypes
import fcntl
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

_NEW_NETWORK, _NEW_MOUNTS = 0x40000000, 0x00020000
# FS_IOC_SHUTDOWN: no flush of data, none of the journal.
_SHUTDOWN, _NO_FLUSH = 0x8004587D, 2
_LETS_GO_S = 60.0
_TABLE = """table inet faults {{
chain input {{
type filter hook input priority 0
{rules}
}}
}}"""

_DETOUR = """table inet detour {{
chain output {{
type nat hook output priority -100
{way}
}}
}}"""


class ImpossibleError(Exception):
    """This machine does not let us."""


@cache
def separate() -> str:
    """Once: network and mounts are from here on ours and our children's; else why not."""
    if os.geteuid() != 0:
        return "it needs root"
    if ctypes.CDLL(None, use_errno=True).unshare(_NEW_NETWORK | _NEW_MOUNTS):
        return f"no namespaces here: {os.strerror(ctypes.get_errno())}"
    run("mount", "--make-rprivate", "/")
    run("ip", "link", "set", "lo", "up")
    return ""


def _need_own() -> None:
    if obstacle := separate():
        raise ImpossibleError(obstacle)


def run(*command: str, text: str = "") -> str:
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise ImpossibleError(f"there is no program {command[0]}") from error
    if done.returncode:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


class Disk:
    """An ext4 of its own, in a file."""

    def __init__(self, folder: Path, size_mb: int) -> None:
        _need_own()
        self.folder = folder
        self._image = folder.with_suffix(".img")
        self._unsynced = folder / "unsynced"
        folder.mkdir(parents=True, exist_ok=True)
        with self._image.open("wb") as image:
            image.truncate(size_mb << 20)
        run("mkfs.ext4", "-q", "-m", "0", str(self._image))
        self.mount()

    def mount(self) -> None:
        run("mount", "-o", "loop", str(self._image), str(self.folder))

    def lose_power(self) -> None:
        """What is not synced by now is gone; a file that nobody synced has to prove it."""
        self._unsynced.write_bytes(b"x")
        handle = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.ioctl(handle, _SHUTDOWN, _NO_FLUSH.to_bytes(4, "little"))
        finally:
            os.close(handle)

    def come_back(self) -> None:
        self.unmount()
        self.mount()
        if self._unsynced.exists():
            raise OSError("this file system keeps what was not synced")

    def fill(self) -> None:
        with (self.folder / "filler").open("wb") as filler, suppress(OSError):
            while True:
                filler.write(bytes(1 << 16))
                filler.flush()

    def free(self) -> None:
        (self.folder / "filler").unlink()

    def unmount(self) -> None:
        """A process that was killed lets go of its files a moment later."""
        deadline_s = time.monotonic() + _LETS_GO_S
        while True:
            try:
                run("umount", str(self.folder))
            except OSError:
                if time.monotonic() > deadline_s:
                    raise
            else:
                return
            time.sleep(0.1)

    def close(self) -> None:
        with suppress(OSError):
            self.unmount()
        self._image.unlink()


@contextmanager
def rule(*texts: str) -> Iterator[None]:
    """Of the firewall, for what goes to this machine."""
    _need_own()
    run("nft", "-f", "-", text=_TABLE.format(rules="\n".join(texts)))
    try:
        yield
    finally:
        run("nft", "delete", "table", "inet", "faults")


@contextmanager
def detour(port: int, to: int, but_for: int) -> Iterator[None]:
    """New connections to a port lead to another one, but for those of one user (by number)."""
    _need_own()
    way = f"tcp dport {port} meta skuid != {but_for} redirect to :{to}"
    run("nft", "-f", "-", text=_DETOUR.format(way=way))
    try:
        yield
    finally:
        run("nft", "delete", "table", "inet", "detour")


def drop(port: int) -> tuple[str, str]:
    """Nothing passes to or from a port, and nobody is told."""
    return f"tcp dport {port} drop", f"tcp sport {port} drop"


def hang_up(port: int) -> str:
    """Whoever sends to a port loses the connection. Not both ways: the reset has to pass."""
    return f"tcp dport {port} reject with tcp reset"


def clients_of(port: int) -> list[int]:
    """The ports of those who are connected, as far as they know."""
    lines = run("ss", "-Htn", "state", "established", f"dport = :{port}").splitlines()
    return [int(line.split()[2].rpartition(":")[2]) for line in lines]
