"""What an earlier stack may have left: a whole one, or the orphans of a killed one."""

from __future__ import annotations

import psutil

from millrace.base.errors import MillraceError
from millrace.platform.core.platform import Platform
from millrace.processes.io.process_table import end_marked, find_marked
from millrace.processes.io.stack_identity import stack_marks
from millrace.stack.io.progress import Progress

_GRACE_S = 20


class AlreadyUpError(MillraceError):
    """There is a stack in this checkout that has not been taken down."""

    def __init__(self, pid: int) -> None:
        super().__init__(
            f"the stack is up already: its supervisord is process {pid};"
            " 'millrace status' shows how it does, 'millrace down' stops it"
        )


def end_leftovers(layout: Platform, progress: Progress) -> None:
    """Refuse where a process manager lives; without one, nobody looks after its orphans."""
    marks = stack_marks(layout)
    if marks is None:
        return
    found = find_marked(marks)
    for process in found:
        if _is_supervisor(process):
            raise AlreadyUpError(process.pid)
    if found:
        with progress.step("what a killed stack left", "what a killed stack left is ended"):
            end_marked(marks, _GRACE_S)


def _is_supervisor(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE and any(
            word.endswith("/supervisord") for word in process.cmdline()
        )
    except psutil.Error:
        return False
