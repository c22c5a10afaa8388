"""Runs the commands of a step, and writes down how they ended: `python -m ... FOLDER LOCK`.

A process of its own session, so that the end of Airflow's task is none of Terraform's. It is handed
the step's lock, open, and Terraform inherits it: the lock is free when both are gone.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from millrace.cloud.core.infrastructure import TerraformStep
from millrace.storage.io.files import write_atomic

STEP, PID, STOP, EXIT = "step.json", "pid", "asked-to-stop", "exit"
_NOT_STARTED = 127


class Steps:
    """Told to end, it hands that on once: a second time Terraform would drop what it has begun."""

    def __init__(self, folder: Path, lock: int) -> None:
        self._folder = folder
        self._lock = lock
        self._child: subprocess.Popen[bytes] | None = None
        self._told = False

    def run(self) -> None:
        signal.signal(signal.SIGINT, self._hand_on)
        # When a machine goes down all its processes hear of it, and so does Terraform by itself.
        signal.signal(signal.SIGTERM, self._begin_no_more)
        write_atomic(self._folder / PID, str(os.getpid()))
        step = TerraformStep.model_validate_json((self._folder / STEP).read_text())
        write_atomic(self._folder / EXIT, str(self._run_all(step)))

    def _run_all(self, step: TerraformStep) -> int:
        code = 0
        for command in step.commands:
            if self._is_stopping:
                return -signal.SIGINT
            code = self._run_one(command, step.directory)
            if code:
                break
        return code

    def _run_one(self, command: tuple[str, ...], directory: Path) -> int:
        print(f"$ {' '.join(command)}", flush=True)  # noqa: T201 - into the step's log
        try:
            self._child = subprocess.Popen(command, cwd=directory, pass_fds=(self._lock,))
        except OSError as error:
            print(f"Error: {error}", flush=True)  # noqa: T201 - into the step's log
            return _NOT_STARTED
        if self._is_stopping:
            # The signal came before there was anybody to hand it to.
            self._tell()
        return self._child.wait()

    @property
    def _is_stopping(self) -> bool:
        return (self._folder / STOP).exists()

    def _hand_on(self, *_: object) -> None:
        self._begin_no_more()
        self._tell()

    def _begin_no_more(self, *_: object) -> None:
        (self._folder / STOP).touch(mode=0o600)

    def _tell(self) -> None:
        if self._child and not self._told:
            self._told = True
            self._child.send_signal(signal.SIGINT)


if __name__ == "__main__":
    Steps(Path(sys.argv[1]), int(sys.argv[2])).run()
