"""`down`: everything ends, in good order where it still can; then `reset`."""

from __future__ import annotations

import shutil
import time

from millrace.base.errors import MillraceError
from millrace.platform.core.platform import Platform
from millrace.processes.io.process_table import JOB_VARIABLE, end_marked
from millrace.processes.io.stack_identity import stack_marks
from millrace.processes.io.supervisor import Supervisor, SupervisorUnreachableError
from millrace.stack.io.exclusive import only_one_at_work
from millrace.stack.io.outside import remove_outside
from millrace.stack.io.progress import Progress

_POLL_S = 0.2
_JOB_GRACE_S = 60.0
_LIVE = {"STARTING", "RUNNING", "BACKOFF", "STOPPING"}
# Airflow first, so that it does not start again what ends; who writes before who stores.
_ORDER: tuple[tuple[str, tuple[str, ...], float], ...] = (
    ("Airflow", ("airflow-",), 40),
    ("jobs, relays and simulators", ("job-", "relay-", "simulator-"), 130),
    ("gateways", ("gateway-",), 40),
    ("brokers and stores", ("kafka-", "postgres", "object-store", "schema-registry"), 60),
)


def down(layout: Platform, progress: Progress) -> bool:
    """False when there was nothing to stop."""
    if not layout.var.is_dir():
        return _sweep(layout)
    with only_one_at_work(layout, "down"), progress.shown():
        try:
            _stop_in_order(Supervisor(layout.supervisor_socket), progress)
            was_up = True
        except SupervisorUnreachableError:
            was_up = False
        with progress.step("the last processes", "no process is left"):
            swept = _sweep(layout)
            remove_outside(layout)
    return was_up or swept


def reset(layout: Platform, progress: Progress) -> None:
    down(layout, progress)
    try:
        if layout.var.is_dir() and not layout.var.is_symlink():
            shutil.rmtree(layout.var)
        else:
            layout.var.unlink(missing_ok=True)
    except OSError as error:
        raise MillraceError(f"{error.filename} cannot be deleted: {error.strerror}") from error


def _stop_in_order(supervisor: Supervisor, progress: Progress) -> None:
    supervisor.processes()
    for what, prefixes, timeout_s in _ORDER:
        with progress.step(f"stopping {what}", f"{what} stopped"):
            _stop(supervisor, prefixes, timeout_s)
    supervisor.shut_down()


def _stop(supervisor: Supervisor, prefixes: tuple[str, ...], timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    live = _live(supervisor, prefixes)
    for name in live:
        supervisor.ask_to_stop(name)
    while live and time.monotonic() < deadline:
        time.sleep(_POLL_S)
        live = _live(supervisor, prefixes)


def _live(supervisor: Supervisor, prefixes: tuple[str, ...]) -> list[str]:
    return [
        info.name
        for info in supervisor.processes()
        if info.name.startswith(prefixes) and info.state in _LIVE
    ]


def _sweep(layout: Platform) -> bool:
    """Also what a `kill -9` of the process manager, or of anything, has orphaned."""
    marks = stack_marks(layout)
    if marks is None:
        return False
    jobs = sorted(layout.jobs.glob("*")) if layout.jobs.is_dir() else []
    ended = [end_marked({**marks, JOB_VARIABLE: job.name}, _JOB_GRACE_S) for job in jobs]
    return any([*ended, end_marked(marks, grace_s=20)])
