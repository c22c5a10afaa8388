"""The end of a stack, whatever happened to it, and its next beginning, with a centre."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from datetime import UTC, datetime

import pytest

from tests.e2e.stack import SITES, Json, Stack, kill_all
from tests.support import wait_until

pytestmark = pytest.mark.timeout(900)


def test_up_goes_on_after_everything_was_killed_at_once(up: Stack) -> None:
    """Takes more than a minute on a busy machine: the whole stack comes up once more."""
    before = up.bronze()
    generation = up.pipeline()["generation"]
    kill_all(up.processes())

    up.make("up", "CENTRE=1")
    wait_until(lambda: up.runs_as(generation + 1), 60, "the job as the next generation")
    assert len(up.job_processes()) == 1
    wait_until(lambda: sum(up.bronze().values()) > sum(before.values()), 60, "more rows")
    _assert_once_and_whole(up.bronze())


def test_the_relay_brings_both_sites_to_the_centre(up: Stack) -> None:
    def relay() -> Json:
        value: Json = up.status()["relays"]["to-centre"]
        return value

    wait_until(lambda: relay()["messages"] > 0, 60, "records at the centre")
    assert (relay()["state"], relay()["sites_up"], relay()["halted"]) == ("running", 2, 0)
    for site in SITES:
        topic = f"{site}.temperature-data@centre"
        first = up.millrace("tail", topic, "--from-start", "--count", "1", "--json")
        assert json.loads(first.stdout)["value"]["sensor_id"].startswith(site), first.stderr


def test_a_killed_relay_is_back(up: Stack) -> None:
    os.kill(up.pid_of("relay-to-centre"), signal.SIGKILL)
    killed_at = datetime.now(UTC)

    def committed_since() -> bool:
        last = up.status()["relays"]["to-centre"]["last_commit_at"]
        return last is not None and datetime.fromisoformat(last) > killed_at

    wait_until(committed_since, 60, "at work again")


def test_a_broker_joins_the_centre_and_takes_its_share(up: Stack) -> None:
    added = up.millrace("cluster", "add-broker", "centre", timeout_s=180)
    assert added.returncode == 0, added.stderr
    assert "brokers: 4" in (up.home / "dags" / "clusters" / "centre.yaml").read_text()
    shared = up.millrace("cluster", "rebalance", "centre", timeout_s=180)
    assert shared.returncode == 0, shared.stderr
    assert "are where they should be" in shared.stdout
    again = up.millrace("cluster", "rebalance", "centre")
    assert "nothing to move" in again.stdout


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


@pytest.mark.long
def test_the_other_door_runs_the_tests_of_a_copy(stack: Stack) -> None:
    """`make test` begins with these; the rest of it is what you are looking at.

    A `make test` of a clean clone is such a run itself. All unit tests take a minute.
    """
    assert " passed" in stack.make("unit").splitlines()[-1]
