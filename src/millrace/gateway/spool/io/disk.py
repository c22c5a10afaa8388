"""The few calls by which a spool makes sure that what is written stays."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from millrace.storage.io.files import sync_folder

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class NoRoomError(Exception):
    """The spool holds what it may, or the disk is full."""


def write_whole(handle: int, data: bytes, at: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(handle, view, at)
        view, at = view[written:], at + written


def allocate(handle: int, size: int) -> None:
    """Later writes below `size` need no more room, and change no length."""
    try:
        os.posix_fallocate(handle, 0, size)
        os.fsync(handle)
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise NoRoomError(f"the disk is full: {error.strerror}") from error
        raise


def make_file(file: Path, size: int, head: bytes) -> int:
    """A file of its full size, under its name when all of it is safe."""
    draft = file.with_suffix(".new")
    handle = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        allocate(handle, size)
        write_whole(handle, head, 0)
        os.fsync(handle)
        draft.rename(file)
        sync_folder(file.parent)
    except BaseException:
        os.close(handle)
        draft.unlink(missing_ok=True)
        raise
    return handle


def zero_from(handle: int, at: int, size: int) -> None:
    """Forget what stands behind `at`; the room stays ours."""
    os.ftruncate(handle, at)
    os.posix_fallocate(handle, 0, size)
    os.fsync(handle)
