"""A task as a process: its progress, its result, its reasons, its end."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil
import pytest

from millrace.base.model import Frozen
from millrace.jobs.core.task_spec import TaskSpec
from millrace.platform.core.platform import Platform
from millrace.settings.core.engine import EngineSpec, Tables
from millrace.tasks.io.run import TaskFailedError, new_task_folder, run_task

# Modules that stand where spark_jobs would; the process is real.
WORKS = """\
import json, pathlib, sys
folder = pathlib.Path(json.loads(pathlib.Path(sys.argv[1]).read_text())["folder"])
print("half way", flush=True)
(folder / "result.json").write_text('{"rows": 7}')
"""
FAILS = """\
import json, pathlib, sys
folder = pathlib.Path(json.loads(pathlib.Path(sys.argv[1]).read_text())["folder"])
(folder / "error.txt").write_text("the table is gone")
sys.exit(1)
"""
CRASHES = "raise SystemExit('no Java here')"
NEVER_ENDS = """\
import os, time
print(os.getpid(), flush=True)
time.sleep(600)
"""


class Result(Frozen):
    rows: int


def run(home: Path, module: str, said: list[str]) -> Result:
    python = home / ".venv-lake" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    (home / "job.py").write_text(module)
    tables = Tables(bronze="b", silver="s", quarantine="q")
    engine = EngineSpec(memory="1g", class_path=())
    task = TaskSpec(pipeline="p", engine=engine, tables=tables, folder=home)
    return run_task(Platform(home), "job", task, Result, said.append)


def test_progress_comes_line_by_line_and_the_result_at_the_end(tmp_path: Path) -> None:
    said: list[str] = []
    assert run(tmp_path, WORKS, said) == Result(rows=7)
    assert said == ["half way"]


def test_a_reason_is_given_with_the_log_beside_it(tmp_path: Path) -> None:
    with pytest.raises(TaskFailedError, match=r"the table is gone \(log: .*task.log\)"):
        run(tmp_path, FAILS, [])


def test_without_a_reason_the_last_lines_are_given(tmp_path: Path) -> None:
    with pytest.raises(TaskFailedError, match=r"exit code 1; [\s\S]*no Java here"):
        run(tmp_path, CRASHES, [])


def test_whoever_stops_waiting_ends_the_process(tmp_path: Path) -> None:
    class Impatient(list[str]):
        def append(self, line: str) -> None:
            super().append(line)
            raise KeyboardInterrupt

    said = Impatient()
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, NEVER_ENDS, said)
    assert not psutil.pid_exists(int(said[0]))


def test_old_runs_of_a_kind_go_and_others_stay(tmp_path: Path) -> None:
    layout = Platform(tmp_path)
    tasks = layout.task("temperature", "any").parent
    for number in range(100):
        (tasks / f"20260101T0000{number:02d}.000-quality").mkdir(parents=True)
    (tasks / "20250101T000000.000-replay").mkdir()
    (tasks / "20260101T000000.000-quality" / "result.json").write_text("{}")

    new = new_task_folder(layout, "temperature", "quality")

    left = sorted(folder.name for folder in tasks.iterdir())
    assert len(left) == 101
    assert left[0] == "20250101T000000.000-replay"
    assert left[1] == "20260101T000001.000-quality"
    assert left[-1] == new.name
