"""What an operator waits for, with the real job: python -m benchmarks.waits [TRIES].

Runs in the control environment. A scratch copy of this checkout is started as `make up` does it,
with two simulated sites that send all the while; nothing but the one job runs by the clock.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.e2e.stack import Stack
from tests.e2e.stand_ins import is_watched, stop
from tests.support import wait_until

CHECKOUT = Path(__file__).resolve().parents[1]
PIPELINE = "temperature"
BY_THE_CLOCK = ("maintain", "quality", "verify")
PATIENCE_S = 300
Waits = dict[str, list[float]]


def main() -> None:
    tries = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    home = Path(tempfile.mkdtemp(prefix="millrace-waits-")).resolve()
    stack = Stack.copied(CHECKOUT, home)
    try:
        stack.make("up")
        rest(stack)
        show(measure(stack, tries))
    finally:
        stack.call("make", "down")
        shutil.rmtree(home, ignore_errors=True)


def rest(stack: Stack) -> None:
    airflow = stack.airflow()
    for kind in BY_THE_CLOCK:
        dag = f"{kind}.{PIPELINE}"
        wait_until(partial(airflow.has, dag), 60, f"{dag} in Airflow")
        airflow.pause(paused=True, dag=dag)


def measure(stack: Stack, tries: int) -> Waits:
    waits: Waits = defaultdict(list)
    for _ in range(tries):
        settle(stack)
        press_stop(stack, waits)
        press_start(stack, waits)
        settle(stack)
        kill(stack, waits)
    return waits


def settle(stack: Stack) -> None:
    """Rows come, and a supervisor is on its shift."""
    await_rows(stack, time.time())
    wait_until(partial(is_watched, stack, PIPELINE), PATIENCE_S, "a job that is watched")


def press_stop(stack: Stack, waits: Waits) -> None:
    began = time.time()
    stop(stack.airflow().of(PIPELINE))
    wait_until(lambda: not stack.job_processes(PIPELINE), PATIENCE_S, "the job gone")
    waits["Stop, until the process is gone"].append(time.time() - began)


def press_start(stack: Stack, waits: Waits) -> None:
    airflow = stack.airflow().of(PIPELINE)
    follow(stack, waits, "Start", lambda: airflow.pause(paused=False))


def kill(stack: Stack, waits: Waits) -> None:
    (driver,) = stack.job_processes(PIPELINE)
    follow(stack, waits, "kill -9 of the job", driver.kill)


def follow(stack: Stack, waits: Waits, what: str, act: Callable[[], None]) -> None:
    """From an act to the next generation, and to what that one commits."""
    generation = stack.heartbeat()["generation"]
    began = time.time()
    act()
    wait_until(partial(stack.runs_as, generation + 1), PATIENCE_S, "the next job running")
    waits[f"{what}, until a job runs"].append(time.time() - began)
    (driver,) = stack.job_processes(PIPELINE)
    rows_at = await_rows(stack, driver.create_time())
    waits[f"{what}, until its first rows can be read"].append(rows_at - began)


def await_rows(stack: Stack, since: float) -> float:
    """When the first commit with rows was made from then on."""
    moments: list[float] = wait_until(
        lambda: commits_with_rows(stack, since), PATIENCE_S, "rows committed"
    )
    return moments[0]


def commits_with_rows(stack: Stack, since: float) -> list[float]:
    log = stack.home / "var" / "lake" / "bronze" / PIPELINE / "_delta_log"
    files = [file for file in log.glob("*.json") if file.stat().st_mtime > since]
    return sorted(file.stat().st_mtime for file in files if '"add"' in file.read_text())


def show(waits: Waits) -> None:
    table = Table("from, until", "tries", "median s", "worst s")
    for what, seen in waits.items():
        table.add_row(what, str(len(seen)), f"{statistics.median(seen):.1f}", f"{max(seen):.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
