"""A job that needs no Spark, and what a service does with the process of one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

# A child of its own, as Spark's Python has a JVM; a graceful end leaves a file.
JOB = """
import os, pathlib, signal, subprocess, sys, time
child = subprocess.Popen(["sleep", "600"])
def finish(*_):
    child.terminate()
    child.wait()
    pathlib.Path("finished").touch()
    sys.exit(0)
signal.signal(signal.SIGTERM, finish)
print("read its specification", "started", sep="\\n", flush=True)
while True:
    time.sleep(0.05)
"""


@dataclass
class StandIn:
    """The process that a service runs for one run."""

    process: subprocess.Popen[bytes]
    log: Path
    began: datetime
    asked_to_end: bool = False

    @classmethod
    def start(cls, main: Path, arguments: Sequence[str], log: Path) -> StandIn:
        with log.open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, main, *arguments],
                cwd=main.parent,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return cls(process, log, datetime.now(UTC))

    @property
    def exit_code(self) -> int | None:
        """As a shell tells it; None while it runs."""
        code = self.process.poll()
        return 128 - code if code is not None and code < 0 else code

    def end(self, grace_s: float) -> None:
        """A TERM, once, and a KILL when the time is over; who asks again may shorten it."""
        if self.process.poll() is None and not self.asked_to_end:
            self.process.terminate()
        self.asked_to_end = True
        timer = threading.Timer(grace_s, self.kill)
        timer.daemon = True
        timer.start()

    def kill(self) -> None:
        """With all that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(10)
