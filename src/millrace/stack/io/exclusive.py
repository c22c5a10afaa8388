"""One `up`, `down` or `reset` at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from millrace.base.errors import MillraceError
from millrace.settings.core.paths import Paths


@contextmanager
def only_one_at_work(layout: Paths, what: str) -> Iterator[None]:
    file = layout.var / "at-work.lock"
    with file.open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.seek(0)
            other = lock.read().strip() or "another command"
            raise MillraceError(f"{other} is at work on this stack; wait for its end") from error
        lock.truncate(0)
        lock.write(f"'millrace {what}' (process {os.getpid()})")
        lock.flush()
        yield
