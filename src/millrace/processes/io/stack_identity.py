"""Whose processes are whose: one id for each `var`, which all of its processes carry."""

from __future__ import annotations

import os
import uuid
from contextlib import suppress

import psutil

from millrace.processes.io.process_table import STACK_VARIABLE
from millrace.settings.core.paths import HOME_VARIABLE, Paths
from millrace.storage.io.files import read_text, write_atomic

# What the stack's processes inherit from the user's shell; whatever else stands there,
# credentials among it, is none of their business.
_INHERITED = ("PATH", "HOME", "JAVA_HOME", "TMPDIR", "TZ")


def stack_marks(layout: Paths) -> dict[str, str] | None:
    """By which this stack's processes are known; None where there is none."""
    identity = (read_text(layout.stack_id) or "").strip() or _lost_identity(layout)
    return {STACK_VARIABLE: identity} if identity else None


def ensure_stack_marks(layout: Paths) -> dict[str, str]:
    marks = stack_marks(layout)
    if marks is None:
        marks = {STACK_VARIABLE: uuid.uuid4().hex}
        write_atomic(layout.stack_id, marks[STACK_VARIABLE] + "\n")
    return marks


def _lost_identity(layout: Paths) -> str | None:
    """Of a stack that still runs though its `var` was deleted."""
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            environment = process.environ()
            if environment.get(HOME_VARIABLE) == str(layout.home) and process.pid != os.getpid():
                identity = environment.get(STACK_VARIABLE)
                if identity:
                    return identity
    return None


def stack_environment(layout: Paths) -> dict[str, str]:
    """What every process of the stack is started with; holds no secret."""
    inherited = {key: os.environ[key] for key in _INHERITED if key in os.environ}
    constant = {"LANG": "C.UTF-8", HOME_VARIABLE: str(layout.home)}
    return {**inherited, **constant, **ensure_stack_marks(layout)}
