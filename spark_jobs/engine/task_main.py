"""What every task shares: its file, its session, its progress, its result or its reason."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from typing import TypeVar

from pyspark.sql import SparkSession

from millrace.base.errors import MillraceError
from millrace.base.model import Frozen
from millrace.jobs.core.task_spec import TaskSpec
from millrace.storage.io.files import write_atomic
from millrace.tasks.io.task_folder import brought_here
from spark_jobs.engine.session import build_session

log = logging.getLogger("millrace.task")

Task = TypeVar("Task", bound=TaskSpec)


def say(line: str) -> None:
    """Progress, for whoever waits for the task."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def run_task(model: type[Task], work: Callable[[SparkSession, Task], Frozen]) -> int:
    """The whole life of a task; returns its exit code. Its arguments are those of `read_spec`."""
    log_to_stderr()
    with brought_here(sys.argv[1:]) as text:
        return _run(model.model_validate_json(text), work)


def _run(task: Task, work: Callable[[SparkSession, Task], Frozen]) -> int:
    try:
        session = build_session(f"{task.pipeline}-{task.folder.name}", task.engine, "task")
        try:
            result = work(session, task)
        finally:
            session.stop()
    except MillraceError as error:
        return _fail(task, str(error))
    except Exception as error:
        log.exception("unexpected")
        return _fail(task, f"{type(error).__name__}: {str(error).splitlines()[0]}")
    write_atomic(task.result_file, result.model_dump_json(indent=2))
    return 0


def _fail(task: TaskSpec, reason: str) -> int:
    log.error("%s", reason)
    write_atomic(task.error_file, reason)
    return 1


def log_to_stderr() -> None:
    logging.Formatter.converter = time.gmtime
    logging.basicConfig(
        level=logging.INFO,
        format="%(asctime)s.%(msecs)03dZ %(levelname)-5s %(name)s: %(message)s",
        datefmt="%Y-%m-%dT%H:%M:%S",
    )
    logging.getLogger("py4j").setLevel(logging.WARNING)
