"""The same stack by words more: tables in a bucket, jobs on a Spark cluster, a registry."""

from __future__ import annotations

import pytest

from tests.e2e.stack import SITES, Stack, kill_all
from tests.support import wait_until

pytestmark = pytest.mark.timeout(900)
# A thousand small files, each opened by TLS, beside a suite that wants both cores.
TASK_TIMEOUT_S = 420


def test_a_stack_comes_up_elsewhere_and_says_where(moved: Stack) -> None:
    seen = moved.status()
    assert seen["relays"] == {}
    assert "s3a://" in seen["store"]
    names = {one["name"] for one in seen["processes"] if one["state"] == "running"}
    others = {"object-store", "schema-registry", "spark-master", "spark-worker-1", "spark-worker-2"}
    assert others <= names
    tables = seen["pipelines"]["temperature"]["tables"]
    assert all(table.startswith("s3a://") for table in tables.values())


def test_the_registry_has_every_schema_when_the_stack_is_up(moved: Stack) -> None:
    listed = moved.asked("schema", "list")
    assert [one["in_registry"] for one in listed] == [True] * len(listed)
    assert "temperature-data" in {one["topic"] for one in listed}


def test_a_task_finds_room_beside_the_job_and_the_tables_whole(moved: Stack) -> None:
    """Takes more than a minute on a busy machine: it starts a driver and an executor."""
    wait_until(lambda: all(rows_of_this_start(moved)), 120, "rows of both sites")
    verified = moved.asked("verify", "temperature", timeout_s=TASK_TIMEOUT_S)
    assert verified["whole"]
    assert {part["site"] for part in verified["parts"] if part["rows"]} == set(SITES)


@pytest.mark.long
def test_a_replay_finds_nothing_to_add(moved: Stack) -> None:
    """Takes more than a minute: it starts a driver and an executor."""
    wait_until(lambda: all(rows_of_this_start(moved)), 120, "rows of both sites")
    replayed = moved.asked("replay", "temperature", timeout_s=TASK_TIMEOUT_S)
    assert replayed["complete"]
    assert sum(replayed["added"].values()) == 0


@pytest.mark.long
def test_a_killed_job_goes_on_from_its_checkpoint_in_the_bucket(moved: Stack) -> None:
    """Takes more than a minute: a driver and an executor start beside the old ones' end."""
    wait_until(lambda: all(rows_of_this_start(moved)), 120, "rows of both sites")
    before = moved.pipeline()["generation"]
    kill_all(moved.job_processes())
    wait_until(lambda: moved.runs_as(before + 1), 120, "the job is back")
    wait_until(lambda: all(rows_of_this_start(moved)), 120, "more rows of both sites")


def rows_of_this_start(stack: Stack) -> list[int]:
    return [site["rows_total"] for site in stack.heartbeat()["sites"]]
