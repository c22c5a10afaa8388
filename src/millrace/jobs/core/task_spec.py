"""A task: a job that comes to an end, such as a replay or a compaction."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from millrace.base.model import Frozen
from millrace.settings.core.engine import EngineSpec, Tables

# Runs of one kind that are remembered for each pipeline; quality alone makes up to 96 a day.
_REMEMBERED = 100


class TaskSpec(Frozen):
    """What every task needs; each kind adds its own. Holds no secret."""

    pipeline: str
    engine: EngineSpec
    tables: Tables
    # Where the task's own file, its log and its result lie.
    folder: Path

    @property
    def spec_file(self) -> Path:
        return self.folder / "task.json"

    @property
    def result_file(self) -> Path:
        return self.folder / "result.json"

    @property
    def error_file(self) -> Path:
        return self.folder / "error.txt"

    @property
    def log_file(self) -> Path:
        return self.folder / "task.log"


def folder_name(kind: str, at: datetime) -> str:
    """By its time first: names in order are runs in order."""
    return f"{at:%Y%m%dT%H%M%S.%f}"[:-3] + f"-{kind}"


def forgotten(folders: Iterable[str], kind: str) -> list[str]:
    """Runs of a kind that are old enough to go."""
    return sorted(name for name in folders if name.endswith(f"-{kind}"))[:-_REMEMBERED]
