"""Runs a task on this machine, to its end, with its progress on the screen."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from millrace.base.errors import MillraceError
from millrace.base.model import Frozen
from millrace.jobs.core.task_spec import TaskSpec, folder_name, forgotten
from millrace.platform.core.platform import Platform
from millrace.processes.io.log_tail import last_lines
from millrace.settings.core.paths import HOME_VARIABLE
from millrace.storage.io.files import make_private, read_text, write_atomic

Result = TypeVar("Result", bound=Frozen)

_SHOWN_LINES = 10


class TaskFailedError(MillraceError):
    """A task that ended without a result."""


def new_task_folder(layout: Platform, pipeline: str, kind: str) -> Path:
    """A folder of its own for a run; the oldest of its kind go."""
    folder = layout.task(pipeline, folder_name(kind, datetime.now(UTC)))
    make_private(folder)
    for old in forgotten((run.name for run in folder.parent.iterdir()), kind):
        shutil.rmtree(folder.with_name(old), ignore_errors=True)
    return folder


def run_task(
    layout: Platform,
    module: str,
    task: TaskSpec,
    result: type[Result],
    on_progress: Callable[[str], None],
) -> Result:
    """Start `python -m module` in the lake environment; every line it prints is progress."""
    write_atomic(task.spec_file, task.model_dump_json(indent=2))
    if task.engine.is_submitted:
        # Slow to import, and whoever runs tasks here does not need it.
        from millrace.tasks.io.emr_tasks import run_there

        code = run_there(layout, module, task, on_progress)
    else:
        with task.log_file.open("ab") as log:
            code = _run(layout, [module, str(task.spec_file)], log.fileno(), on_progress)
    text = read_text(task.result_file)
    if code or text is None:
        raise TaskFailedError(_why(task, code))
    return result.model_validate_json(text)


def _run(
    layout: Platform, arguments: list[str], log: int, on_progress: Callable[[str], None]
) -> int:
    environment = {**os.environ, "PYTHONPATH": str(layout.home), "PYTHONUNBUFFERED": "1"}
    environment[HOME_VARIABLE] = str(layout.home)
    command = [str(layout.lake_python), "-m", *arguments]
    with subprocess.Popen(
        command,
        cwd=layout.home,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            for line in process.stdout or ():
                on_progress(line.rstrip("\n"))
        except BaseException:
            # Ctrl-C, or the end of the DAG's task: nothing is committed by halves.
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode


def _why(task: TaskSpec, code: int) -> str:
    reason = read_text(task.error_file)
    if reason:
        return f"{reason.strip()} (log: {task.log_file})"
    last = "\n  ".join(last_lines(task.log_file, _SHOWN_LINES))
    return f"the task ended with exit code {code}; the end of {task.log_file}:\n  {last}"
