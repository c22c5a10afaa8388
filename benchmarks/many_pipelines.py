"""What many pipelines cost Airflow: python -m benchmarks.many_pipelines [PIPELINES] [MINUTES].

Runs in the control environment. A scratch copy of this checkout is started with so many pipelines;
their jobs keep the whole protocol (claim, heartbeat, fence, stop) and have no Spark, so that they
fit on one machine. Kafka, Postgres and Airflow are the product's own.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import psycopg2
from rich.console import Console
from rich.table import Table

from millrace.platform.core.platform import Platform
from millrace.stack.io.airflow import postgres
from tests.e2e import stand_ins
from tests.e2e.stack import Airflow, Stack
from tests.support import wait_until

CHECKOUT = Path(__file__).resolve().parents[1]
COMPONENTS = (
    "airflow-scheduler",
    "airflow-triggerer",
    "airflow-api-server",
    "airflow-dag-processor",
    "postgres",
)
STARTED_BY_HAND = 5
WRITES = """
SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_user_tables
"""
MIB = 1 << 20


@dataclass
class Look:
    """Counters that only grow."""

    at_s: float
    writes: int
    cpu_s: dict[str, float]


def main() -> None:
    count, minutes = (int(word) for word in [*sys.argv[1:], *("50", "5")[len(sys.argv) - 1 :]])
    home = Path(tempfile.mkdtemp(prefix="millrace-many-")).resolve()
    stack = Stack.copied(CHECKOUT, home)
    try:
        report(stack, [f"stand-in-{number:02d}" for number in range(count)], minutes)
    finally:
        stack.call("make", "down")
        shutil.rmtree(home, ignore_errors=True)


def report(stack: Stack, names: list[str], minutes: int) -> None:
    leave_out_readings(stack)
    stand_ins.install(stack, names)
    began, began_at = time.monotonic(), datetime.now(UTC)
    stack.make("up")
    wait_until(lambda: all(is_kept(stack, name) for name in names), 1800, "all watched", poll_s=1)
    figures = {f"make up until all {len(names)} jobs are watched, s": time.monotonic() - began}
    figures |= task_waits(stack, began_at, "while all start")
    wait_until(lambda: is_quiet(stack), 600, "nothing left to schedule", poll_s=5)
    first = look(stack)
    time.sleep(60 * minutes)
    figures |= steady(stack, first, look(stack)) | parses(stack)
    figures |= starts(stack, names[:STARTED_BY_HAND])
    table = Table("figure", "value")
    for name, value in figures.items():
        table.add_row(name, f"{value:,.2f}")
    Console().print(table)


def leave_out_readings(stack: Stack) -> None:
    """No pipeline of the example's reads simulated sensors, so there are none either."""
    (stack.home / "dags" / "pipelines" / "temperature.yaml").unlink()
    for file in (stack.home / "dags" / "sites").glob("*.yaml"):
        before, _, _ = file.read_text().partition("local:")
        file.write_text(f"{before}local: {{}}\n")


def is_kept(stack: Stack, name: str) -> bool:
    folder = stack.home / "var" / "jobs" / name
    return (folder / "watched").exists() and (folder / "heartbeat.json").exists()


def is_quiet(stack: Stack) -> bool:
    """No task waits for a worker: only the deferred ones are left."""
    waiting = asked(
        stack, "SELECT count(*) FROM task_instance WHERE state IN ('scheduled','queued','running')"
    )
    return waiting[0][0] == 0


def look(stack: Stack) -> Look:
    cpu = {name: sum_over(stack, name, cpu_seconds) for name in COMPONENTS}
    return Look(time.monotonic(), int(asked(stack, WRITES)[0][0]), cpu)


def steady(stack: Stack, first: Look, last: Look) -> dict[str, float]:
    span_s = last.at_s - first.at_s
    figures = {"row writes an hour": (last.writes - first.writes) * 3600 / span_s}
    for name in COMPONENTS:
        share = 100 * (last.cpu_s[name] - first.cpu_s[name]) / span_s
        figures[f"{name}: CPU, % of one core"] = share
        figures[f"{name}: PSS, MiB"] = sum_over(stack, name, pss) / MIB
    return figures


def parses(stack: Stack) -> dict[str, float]:
    """As the DAG processor itself has measured its last turn: a process for each file."""
    rows = asked(
        stack,
        "SELECT relative_fileloc, max(last_parse_duration), count(*) FROM dag"
        " WHERE NOT is_stale GROUP BY 1 ORDER BY 2 DESC",
    )
    return {f"parse of {file}, {dags} DAGs, s": seconds for file, seconds, dags in rows}


def starts(stack: Stack, names: list[str]) -> dict[str, float]:
    """What a person waits for who presses Stop, and then Start."""
    stops, runs, began_at = [], [], datetime.now(UTC)
    airflow = stack.airflow()
    for name in names:
        one = airflow.of(name)
        stops.append(timed(lambda one=one, name=name: press_stop(stack, one, name)))
        runs.append(timed(lambda one=one, name=name: press_start(stack, one, name)))
    return {
        "Stop until the process is gone, median s": statistics.median(stops),
        "Start until the job runs, median s": statistics.median(runs),
        **task_waits(stack, began_at, "at rest"),
    }


def task_waits(stack: Stack, since: datetime, when: str) -> dict[str, float]:
    """What the scheduler and its workers need to begin a task that may begin."""
    query = (
        "SELECT extract(epoch FROM start_date - scheduled_dttm) FROM task_instance"
        " WHERE scheduled_dttm > %s AND start_date > scheduled_dttm AND try_number = 1"
    )
    rows = asked(stack, query, since)
    waits = [float(row[0]) for row in rows]
    return {
        f"a task's wait from scheduled to started, {when}, median s": statistics.median(waits),
        f"a task's wait from scheduled to started, {when}, worst s": max(waits),
    }


def press_stop(stack: Stack, airflow: Airflow, name: str) -> None:
    airflow.pause(paused=True)
    airflow.mark_failed("supervise")
    wait_until(lambda: not stack.job_processes(name), 300, f"{name} stopped")


def press_start(stack: Stack, airflow: Airflow, name: str) -> None:
    asked_at = datetime.now(UTC).isoformat()
    airflow.pause(paused=False)

    def runs() -> bool:
        beat = stack.heartbeat(name)
        return bool(beat["at"] > asked_at and beat["phase"] == "running")

    wait_until(runs, 300, f"{name} running")


def timed(act: Callable[[], None]) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


def asked(stack: Stack, query: str, *values: object) -> list[tuple[Any, ...]]:
    layout = Platform(stack.home)
    with (
        psycopg2.connect(
            host=str(layout.postgres_socket),
            user=postgres.USER,
            dbname=postgres.DATABASE,
            passfile=str(layout.postgres_password),
        ) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(query, values)
        return cursor.fetchall()


def sum_over(stack: Stack, component: str, measure: Callable[[psutil.Process], float]) -> float:
    head = psutil.Process(stack.pid_of(component))
    return sum(measure(process) for process in [head, *head.children(recursive=True)])


def cpu_seconds(process: psutil.Process) -> float:
    """With that of children that have ended."""
    return sum(process.cpu_times()[:4])


def pss(process: psutil.Process) -> float:
    return float(process.memory_full_info().pss)


if __name__ == "__main__":
    main()
