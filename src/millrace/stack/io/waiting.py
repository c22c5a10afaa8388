"""Waits for parts of the stack; one that stays away is shown with its own last words."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TypeVar

from millrace.base.errors import MillraceError
from millrace.processes.io.log_tail import last_lines
from millrace.processes.io.supervisor import Supervisor

_POLL_S = 0.3
_LOG_LINES = 12

Result = TypeVar("Result")


class UnwellError(MillraceError):
    """A part of the stack did not come up."""

    def __init__(self, problem: str, log: Path) -> None:
        words = "\n".join(f"  {line}" for line in last_lines(log, _LOG_LINES)) or "  (empty)"
        super().__init__(f"{problem}; the last lines of {log}:\n{words}")


class Patience:
    """Waits for many things at once; when one of them fails, none is waited for any longer."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._given_up = threading.Event()

    def all_of(self, tasks: Sequence[Callable[[], Result]]) -> list[Result]:
        """Run them at once; the first error is raised as soon as it happens."""
        with ThreadPoolExecutor(max(1, len(tasks))) as pool:
            futures = [pool.submit(task) for task in tasks]
            try:
                done, _ = wait(futures, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
            except BaseException:
                self._given_up.set()
                raise
            return [future.result() for future in futures]

    def until(self, name: str, log: Path, holds: Callable[[], bool], timeout_s: float) -> None:
        """At once an error when the process manager itself has given the program up."""
        deadline = time.monotonic() + timeout_s
        while not holds():
            info = self._supervisor.process(name)
            state = info.state if info else "not started yet"
            if state == "FATAL":
                raise UnwellError(f"{name} ends as soon as it is started", log)
            if time.monotonic() > deadline:
                raise UnwellError(f"{name} is not ready after {timeout_s:.0f} s ({state})", log)
            if self._given_up.wait(_POLL_S):
                raise MillraceError(f"{name} is not waited for any longer")
