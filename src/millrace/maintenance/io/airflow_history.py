"""What Airflow remembers of its runs is kept for as long as `history` says, and then goes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path

from millrace.base.errors import MillraceError
from millrace.base.model import Frozen
from millrace.settings.core.history import TABLES, cleaned
from millrace.settings.core.paths import Paths

# Airflow gives its tasks no way to the database, and this instead.
_NO_WAY = "airflow-db-not-allowed"
_OURS_ALONE = "_AIRFLOW"
_FAILED = "Encountered error when attempting to clean table"


class PrunedLogs(Frozen):
    files: int = 0
    size_bytes: int = 0


def is_ours(layout: Paths) -> bool:
    """Whether the Airflow of this checkout is one that Millrace set up."""
    return (layout.airflow / "airflow.cfg").is_file()


def prune_database(
    layout: Paths, before: datetime, on_progress: Callable[[str], None]
) -> dict[str, int]:
    """The rows that went, by table. Airflow does it, as `airflow db clean`."""
    command = [str(Path(sys.executable).with_name("airflow")), "db", "clean", "--yes"]
    moment = ["--clean-before-timestamp", before.isoformat()]
    words = [*command, "--skip-archive", *moment, "--tables", ",".join(TABLES)]
    lines = []
    with subprocess.Popen(
        words,
        cwd=layout.home,
        env=_environment(os.environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        for line in process.stdout or ():
            lines.append(line.rstrip())
            on_progress(lines[-1])
    if process.returncode:
        last = "\n  ".join(lines[-10:])
        raise MillraceError(f"'airflow db clean' ended with {process.returncode}:\n  {last}")
    if failed := [line for line in lines if _FAILED in line]:
        raise MillraceError("'airflow db clean' left tables as they were: " + "; ".join(failed))
    return cleaned(lines)


def prune_logs(layout: Paths, before: datetime) -> PrunedLogs:
    """Files that nobody wrote to since, and the folders that they leave empty."""
    root, files, size_bytes = layout.airflow / "logs", 0, 0
    emptied: set[Path] = set()
    for file in _old_files(root, before.timestamp()):
        size_bytes += file.stat().st_size
        file.unlink()
        files += 1
        emptied.update(folder for folder in file.parents if folder.is_relative_to(root))
    for folder in sorted(emptied - {root}, reverse=True):
        _remove_empty(folder)
    return PrunedLogs(files=files, size_bytes=size_bytes)


def _old_files(root: Path, before_s: float) -> Iterator[Path]:
    for place, _, names in os.walk(root):
        for name in names:
            file = Path(place, name)
            if not file.is_symlink() and file.stat().st_mtime < before_s:
                yield file


def _remove_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        # Something is in it, or somebody was faster.
        return


def _environment(inherited: Mapping[str, str]) -> dict[str, str]:
    """As a command has it that a person types: with Airflow's own file for the database."""
    return {
        name: value
        for name, value in inherited.items()
        if not name.startswith(_OURS_ALONE) and not value.startswith(_NO_WAY)
    }
