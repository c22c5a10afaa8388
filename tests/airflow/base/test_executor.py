"""A scheduler whose executor lost a worker ends, and leaves no worker behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil

from tests.airflow.conftest import REPOSITORY
from tests.support import wait_until

SCHEDULER = """\
import os, pathlib, signal, sys
from millrace_airflow.base.executor import MortalExecutor

executor = MortalExecutor(parallelism=3)
executor.start()
while len(executor.workers) < 3:  # Airflow 3.0 starts them one by one
    executor._spawn_worker()
pathlib.Path(sys.argv[1]).write_text(" ".join(map(str, executor.workers)))
victim = list(executor.workers)[1]
executor.sync()
os.kill(victim, signal.SIGKILL)
executor.workers[victim].join()
executor.sync()
print("went on")
"""


def test_a_scheduler_without_one_of_its_workers_ends_with_all_of_them(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCHEDULER, str(tmp_path / "workers")],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY / "plugins")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    workers = (tmp_path / "workers").read_text().split()
    assert len(workers) == 3
    assert done.returncode == 1
    assert "went on" not in done.stdout
    wait_until(lambda: not any(_lives(int(pid)) for pid in workers), 30, "all of them gone")


def _lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
