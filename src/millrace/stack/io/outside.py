"""Sockets that programs make outside of `var`, as nothing can be said to them about their folder.

They are written down before the programs start, so that whoever takes the stack down, by whatever
settings, knows them; what a process has left is removed, what another process listens on stays.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from millrace.platform.core.platform import Platform
from millrace.processes.core.program import Program
from millrace.storage.io.files import read_text, write_atomic


def write_down_outside(layout: Platform, programs: Iterable[Program]) -> None:
    """Those of a former stack, which may have had other ports, are removed first."""
    remove_outside(layout)
    files = [str(file) for program in programs for file in program.outside]
    if files:
        write_atomic(layout.outside, "\n".join(files))


def remove_outside(layout: Platform) -> None:
    """When no process of the stack is left."""
    for line in (read_text(layout.outside) or "").splitlines():
        if is_left(file := Path(line)):
            # In a folder of all users it may be somebody else's.
            with suppress(OSError):
                file.unlink()
    layout.outside.unlink(missing_ok=True)


def is_left(file: Path) -> bool:
    """A socket on which nobody listens."""
    with socket.socket(socket.AF_UNIX) as caller:
        caller.settimeout(1)
        try:
            caller.connect(str(file))
        except ConnectionRefusedError:
            return file.is_socket()
        except OSError:
            return False
    return False
