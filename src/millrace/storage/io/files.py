"""Whole files, or none: a reader never sees half a write, also after a power cut."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_atomic(path: Path, text: str | bytes, mode: int = 0o600) -> None:
    with _draft(path, text, mode) as draft:
        draft.replace(path)
        sync_folder(path.parent)


def write_new(path: Path, text: str, mode: int = 0o600) -> bool:
    """Write a file that is not there yet. False when somebody else was first; theirs stays."""
    with _draft(path, text, mode) as draft:
        try:
            path.hardlink_to(draft)
        except FileExistsError:
            return False
        sync_folder(path.parent)
    return True


def sync_folder(folder: Path) -> None:
    """A name that was given or taken in it is safe on disk, also after a power cut."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _draft(path: Path, text: str | bytes, mode: int) -> Iterator[Path]:
    """The text, safe on disk beside its place; what is left of it afterwards goes away."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode() if isinstance(text, str) else text)
            file.flush()
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), mode)
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def make_private(*folders: Path) -> None:
    """Folders, outermost first, that only their owner may enter."""
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)


def mtime_ns(path: Path) -> int:
    """When it was written; 0 where there is none. Another time, other words, or the same again."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def read_text(path: Path) -> str | None:
    """The file's text, or None where there is none yet."""
    try:
        return path.read_text()
    except (FileNotFoundError, NotADirectoryError):
        return None
