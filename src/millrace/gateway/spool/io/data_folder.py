"""Who may write in a folder: one process at a time, and it is named to every other."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import IO

from millrace.base.errors import MillraceError

# No input's name has a dot.
_LOCK = "gateway.lock"


def hold(folder: Path) -> IO[str]:
    """The folder is the caller's alone until the returned file is closed, or its process ends."""
    lock = _open_lock(folder)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = lock.read().strip()
        lock.close()
        raise MillraceError(_reason(folder, holder, error)) from error
    # In place, which needs no room on a full disk; who holds it matters less than that it is held.
    with suppress(OSError):
        os.pwrite(lock.fileno(), b"%-20d\n" % os.getpid(), 0)
    return lock


def _open_lock(folder: Path) -> IO[str]:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return os.fdopen(os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600), "r+")
    except OSError as error:
        raise MillraceError(
            f"data folder {folder}: it cannot be written ({error.strerror}); it has to be the"
            " gateway's user's own, on a disk with room"
        ) from error


def _reason(folder: Path, holder: str, error: OSError) -> str:
    if isinstance(error, BlockingIOError):
        return (
            f"data folder {folder}: process {holder or 'unknown'} works with it, and a second one"
            " would destroy messages that are safe; stop that process first, or let this gateway's"
            " file name another folder. 'millrace gateway waiting' may look at any time"
        )
    return (
        f"data folder {folder}: its file system cannot lock a file ({error.strerror}), so nothing"
        " would keep two gateways apart; put the folder on a local disk"
    )
