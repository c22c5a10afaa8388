"""Generations: one owner per checkpoint.

A generation is claimed by creating a file of its number that must not exist yet. On object
storage the same is a conditional put. Who is not the newest any more must not write.
"""

from __future__ import annotations

import os
from pathlib import Path


def latest(folder: Path) -> int:
    """The newest claimed generation; 0 where there was none."""
    if not folder.is_dir():
        return 0
    return max((int(file.name) for file in folder.iterdir() if file.name.isdigit()), default=0)


def claim(folder: Path, generation: int) -> bool:
    """Take a generation. False when it, or a newer one, is somebody else's already."""
    if latest(folder) >= generation:
        return False
    folder.mkdir(parents=True, exist_ok=True)
    try:
        os.close(os.open(folder / str(generation), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    _forget_old(folder, generation)
    return True


def _forget_old(folder: Path, newest: int, keep: int = 100) -> None:
    for file in folder.iterdir():
        if file.name.isdigit() and int(file.name) <= newest - keep:
            file.unlink(missing_ok=True)
