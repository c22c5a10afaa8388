"""What every tier has use for: ports nobody has, waiting with a deadline, a program that runs."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import time
from collections.abc import Callable
from typing import Any

from millrace.processes.core.program import Program

_JAVA_OPTIONS = "JAVA_TOOL_OPTIONS"
_LONGEST_PAUSE_S = 2.0


def compile_quickly() -> None:
    """Every driver that begins from here on: most end before the best code would pay."""
    os.environ.setdefault(_JAVA_OPTIONS, "-XX:TieredStopAtLevel=1")


def wait_until(
    holds: Callable[[], Any], timeout_s: float = 30.0, what: str = "so", poll_s: float = 0.05
) -> Any:
    """What `holds` returns, as soon as that is true.

    A look that costs much comes less often, or it would take the time of what it waits for.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        began = time.monotonic()
        if value := holds():
            return value
        now = time.monotonic()
        assert now < deadline, f"after {timeout_s} s still not {what}"
        time.sleep(poll_s and max(poll_s, min(2 * (now - began), _LONGEST_PAUSE_S)))


# Of a whole stack, which wants them by and by, for as long as it lives; and of all others.
STACK_PORTS, OTHER_PORTS = range(10_000, 14_000), range(14_000, 32_000)


def free_ports(count: int, among: range = OTHER_PORTS) -> int:
    """The first of so many free ports in a row.

    Below those that the system gives to outgoing connections: any of these may be taken by a
    client between now and the moment that a server of ours wants it.
    """
    while True:
        first = random.randrange(among.start, among.stop - count)
        if all(_is_free(first + n) for n in range(count)):
            return first


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def start(program: Program) -> subprocess.Popen[bytes]:
    """As the process manager would, and so without what only drivers are told."""
    inherited = {name: value for name, value in os.environ.items() if name != _JAVA_OPTIONS}
    program.log.parent.mkdir(parents=True, exist_ok=True)
    with program.log.open("ab") as log:
        return subprocess.Popen(
            program.command,
            cwd=program.directory,
            env={**inherited, **program.environment},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            umask=0o077,
        )
