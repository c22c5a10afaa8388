"""A step of Terraform that outlives who began it: begun once, found again, asked to stop once."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from millrace.cloud.core.infrastructure import TerraformStep
from millrace.cloud.core.terraform_words import Ended
from millrace.cloud.io.terraform_steps import EXIT, PID, STEP, STOP
from millrace.storage.io.files import read_text, write_atomic, write_new

_PROGRAM = "millrace.cloud.io.terraform_steps"
_TOLD = "exit-told"
# 'millrace down' kills what carries the stack's marks; Airflow's settings hold passwords.
_KEPT_BACK = ("MILLRACE_", "AIRFLOW_", "_AIRFLOW_")
_SETTINGS = {"TF_IN_AUTOMATION": "1", "CHECKPOINT_DISABLE": "1"}


class TerraformRun:
    """One step of one run; all that is known of it lies in its folder (0700)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "terraform.log"
        self._exit = folder / EXIT

    def begin(self, step: TerraformStep) -> bool:
        """False: it runs already, or has ended and nobody was told how; that one is it."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock_file.touch(mode=0o600)
        with self._lock_file.open() as lock:
            if not _take(lock.fileno()) or self._exit.exists():
                return False
            for left in (STOP, PID):
                (self.folder / left).unlink(missing_ok=True)
            write_atomic(self.folder / STEP, step.model_dump_json(indent=2))
            self._start(lock.fileno())
        return True

    def look(self) -> Ended | None:
        """None while it runs."""
        if self._is_held():
            return None
        code = read_text(self._exit)
        return Ended(code=int(code) if code else None, asked_to_stop=(self.folder / STOP).exists())

    def ask_to_stop(self) -> bool:
        """One SIGINT, however often it is asked: Terraform ends what it began, writes its state."""
        if self.look() or not write_new(self.folder / STOP, ""):
            return False
        # Where there is no process number yet, the file is seen before Terraform starts.
        pid = read_text(self.folder / PID)
        if pid:
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGINT)
        return True

    def text(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def mark_told(self) -> None:
        """From now on the same step is begun anew, as when a person clears its task."""
        if self._exit.exists():
            self._exit.replace(self.folder / _TOLD)

    @property
    def _lock_file(self) -> Path:
        return self.folder / "lock"

    def _is_held(self) -> bool:
        try:
            with self._lock_file.open() as lock:
                return not _take(lock.fileno())
        except FileNotFoundError:
            return False

    def _start(self, lock: int) -> None:
        handle = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as log:
            subprocess.Popen(
                [sys.executable, "-m", _PROGRAM, str(self.folder), str(lock)],
                env=terraform_environment(os.environ),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=(lock,),
                start_new_session=True,
                umask=0o077,
            )


def terraform_environment(environment: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in environment.items() if not name.startswith(_KEPT_BACK)}
    return {**kept, **_SETTINGS}


def _take(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
