"""Tasks on EMR Serverless: a batch run each, whose folder travels by the bucket."""

from __future__ import annotations

import time
from collections.abc import Callable

from millrace.base.errors import TransientError
from millrace.jobs.core.emr_runs import task_request
from millrace.jobs.core.spec import JobState
from millrace.jobs.core.task_spec import TaskSpec
from millrace.jobs.io.runners.emr_serverless import EmrServerless
from millrace.jobs.io.runners.setup import require
from millrace.platform.core.platform import Platform
from millrace.tasks.io.task_folder import fetch, forget, send

POLL_S = 10.0
_FAILED = 1
_LOG_LINES = 2_000


def run_there(
    layout: Platform,
    module: str,
    task: TaskSpec,
    on_progress: Callable[[str], None],
) -> int:
    """To its end; the exit code. Whoever ends the caller ends the run."""
    settings, bucket = require(layout.remotes.emr_serverless, layout, "emr-serverless")
    service = EmrServerless(settings, bucket)
    place = f"{layout.shared_mailbox(task.pipeline)}/tasks/{task.folder.name}"
    send(task, place, bucket)
    run = service.submit_request(task_request(task, module, place, settings, bucket))
    on_progress(f"run {run} of application {settings.application}")
    try:
        state = _await_end(service, run, on_progress)
    except BaseException:
        # Ctrl-C, or the end of the DAG's task: nothing is committed by halves.
        service.end(run, 0)
        raise
    lines = service.log_tail(run, _LOG_LINES)
    task.log_file.write_text("\n".join([*lines, ""]))
    fetch(task, place, bucket)
    forget(place, bucket)
    return 0 if state == JobState.STOPPED else _FAILED


def _await_end(service: EmrServerless, run: str, on_progress: Callable[[str], None]) -> JobState:
    before = None
    while True:
        try:
            status = service.look(run)
        except TransientError as error:
            on_progress(str(error))
        else:
            if status.state != before:
                on_progress(f"{status.state}{f': {status.reason}' if status.reason else ''}")
                before = status.state
            if status.state in (JobState.STOPPED, JobState.DEAD):
                return status.state
        time.sleep(POLL_S)
