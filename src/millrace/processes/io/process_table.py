"""Finds the stack's processes exactly, by a mark in their environment, and ends them.

A process started by the stack inherits the mark, whoever its parent is by now, so what a
`kill -9` has orphaned is found too, and nothing else ever is.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress

import psutil

from millrace.base.errors import MillraceError

STACK_VARIABLE = "MILLRACE_STACK"
JOB_VARIABLE = "MILLRACE_JOB"
_KILL_WAIT_S = 30
_GONE = (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess)


def find_marked(marks: Mapping[str, str]) -> list[psutil.Process]:
    """All processes whose environment holds all of `marks`; never the caller itself."""
    found = []
    for process in psutil.process_iter():
        with suppress(*_GONE, OSError):
            environment = process.environ()
            if all(environment.get(key) == value for key, value in marks.items()):
                found.append(process)
    return [process for process in found if process.pid not in _own_line()]


def end_marked(marks: Mapping[str, str], grace_s: float) -> bool:
    """Ask the eldest of them to end, kill what is left after the grace. False: there was none."""
    deadline = time.monotonic() + grace_s
    asked: set[int] = set()
    while found := find_marked(marks):
        late = time.monotonic() > deadline
        if time.monotonic() > deadline + _KILL_WAIT_S:
            raise MillraceError(f"these processes do not end, even when killed: {found}")
        for process in found if late else _eldest(found):
            with suppress(*_GONE):
                if process.pid not in asked:
                    asked.add(process.pid)
                    process.terminate()
                if late:
                    process.kill()
        time.sleep(0.1)
    return bool(asked)


def _eldest(found: list[psutil.Process]) -> list[psutil.Process]:
    """Those whose parent is not one of them: a parent ends its children in its own good order."""
    pids = {process.pid for process in found}
    eldest = []
    for process in found:
        with suppress(*_GONE):
            if process.ppid() not in pids:
                eldest.append(process)
    return eldest


def _own_line() -> set[int]:
    own = psutil.Process()
    return {own.pid, *(parent.pid for parent in own.parents())}
