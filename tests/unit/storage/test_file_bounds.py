"""What the control plane keeps in files does not grow for ever."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from millrace.jobs.core.condition import Condition
from millrace.jobs.core.journal import Journal
from millrace.jobs.core.task_spec import folder_name, forgotten
from millrace.jobs.io import generations
from millrace.platform.core.platform import Platform
from millrace.processes.core.program import Program
from millrace.processes.core.supervisor_config import render_job, render_program
from millrace.settings.core.spark_cluster import daemon_properties
from millrace.tasks.io.run import new_task_folder

NOW = datetime(2026, 5, 10, tzinfo=UTC)


def test_of_each_kind_of_task_the_newest_hundred_runs_stay() -> None:
    names = [folder_name("maintain", NOW + timedelta(minutes=n)) for n in range(103)]
    other = [folder_name("quality", NOW - timedelta(days=9))]
    assert forgotten([*names, *other], "maintain") == names[:3]


def test_a_new_run_of_a_task_removes_the_oldest(tmp_path: Path) -> None:
    layout = Platform(tmp_path)
    for n in range(100):
        (layout.task("heat", folder_name("replay", NOW + timedelta(seconds=n)))).mkdir(parents=True)
    made = new_task_folder(layout, "heat", "replay")
    left = sorted(folder.name for folder in made.parent.iterdir())
    assert len(left) == 100
    assert left[-1] == made.name
    assert left[0] == folder_name("replay", NOW + timedelta(seconds=1))


def test_a_journal_keeps_its_newest_notes() -> None:
    journal = Journal()
    for n in range(250):
        condition = (Condition.HEALTHY, Condition.LAGGING)[n % 2]
        journal = journal.noting(NOW + timedelta(minutes=n), condition, str(n))
    assert [note.reason for note in journal.notes] == [str(n) for n in range(50, 250)]


def test_claims_of_generations_go_that_are_a_hundred_behind(tmp_path: Path) -> None:
    for number in range(1, 111):
        assert generations.claim(tmp_path, number)
    assert sorted(int(file.name) for file in tmp_path.iterdir()) == list(range(11, 111))


@pytest.mark.parametrize("render", [render_program, render_job], ids=["a program", "a job"])
def test_logs_of_programs_are_rolled(render, tmp_path: Path) -> None:
    program = Program(
        name="p", command=("true",), directory=tmp_path, log=tmp_path / "p.log", priority=1
    )
    lines = render(program).splitlines()
    assert "stdout_logfile_maxbytes = 5MB" in lines
    assert "stdout_logfile_backups = 2" in lines


def test_logs_of_executors_are_rolled() -> None:
    told = daemon_properties("s", "p", Path("k"), "w")
    rolling = {key.rpartition(".")[2]: v for key, v in told.items() if ".logs.rolling." in key}
    assert rolling == {"strategy": "size", "maxSize": "5000000", "maxRetainedFiles": "3"}
