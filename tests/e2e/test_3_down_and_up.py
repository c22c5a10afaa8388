"""The end of a stack, whatever happened to it, and its next beginning."""

from __future__ import annotations

import os
import signal
from collections import Counter

import pytest

from tests.e2e.stack import SITES, Stack
from tests.support import wait_until

pytestmark = pytest.mark.timeout(900)


def test_up_goes_on_after_everything_was_killed_at_once(up: Stack) -> None:
    before = up.bronze()
    generation = up.pipeline()["generation"]
    for process in up.processes():
        process.kill()

    up.make("up")
    wait_until(lambda: up.runs_as(generation + 1), 60, "the job as the next generation")
    assert len(up.job_processes()) == 1
    wait_until(lambda: sum(up.bronze().values()) > sum(before.values()), 60, "more rows")
    _assert_once_and_whole(up.bronze())


def test_down_leaves_no_process_whatever_was_killed(up: Stack) -> None:
    supervisord = int((up.home / "var" / "run" / "supervisord.pid").read_text())
    for pid in (up.pid_of("kafka-plant-a"), up.pid_of("airflow-scheduler"), supervisord):
        os.kill(pid, signal.SIGKILL)

    up.make("down")
    assert [process.cmdline() for process in up.processes()] == []
    assert up.status()["pipelines"]["temperature"]["state"] != "running"


def _assert_once_and_whole(rows: Counter[tuple[str, str, int, int]]) -> None:
    """Every offset from the first on, each once: nothing lost, nothing doubled."""
    assert set(rows.values()) == {1}
    partitions = {row[:3] for row in rows}
    assert {site for site, _, _ in partitions} == set(SITES)
    for partition in partitions:
        offsets = sorted(row[3] for row in rows if row[:3] == partition)
        assert offsets == list(range(len(offsets))), f"a gap in {partition}"


def test_the_other_door_runs_the_tests_of_a_copy(stack: Stack) -> None:
    """`make test` begins with these; the rest of it is what you are looking at."""
    assert " passed" in stack.make("unit").splitlines()[-1]
