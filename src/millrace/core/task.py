"""A task: a job that comes to an end, such as a replay or a compaction."""

from __future__ import annotations

from pathlib import Path

from millrace.core.engine import EngineSpec, Tables
from millrace.core.model import Frozen

# Of Airflow: how many tasks may run at once; they share the machine with the jobs.
POOL = "millrace-tasks"


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
