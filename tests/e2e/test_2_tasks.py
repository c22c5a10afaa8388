"""Tasks from Airflow's page: what it shows of a pipeline, a replay with a person's yes, upkeep."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from deltalake import DeltaTable

from tests.e2e.stack import Airflow, Json, Stack
from tests.support import wait_until

pytestmark = pytest.mark.timeout(600)

ENDED = ("success", "failed")
LOST = 'site = \'plant-a\' AND "partition" = 0 AND "offset" BETWEEN 3 AND 7'


def begin(airflow: Airflow, dag: str, form: Json) -> str:
    """A run of a DAG, by its form; returns the run's path."""
    answer = airflow.client.post(
        f"/api/v2/dags/{dag}/dagRuns", json={"logical_date": None, "conf": form}
    )
    assert answer.status_code == httpx.codes.OK, answer.text
    return f"/api/v2/dags/{dag}/dagRuns/{answer.json()['dag_run_id']}"


def states(airflow: Airflow, run: str) -> dict[str, str]:
    tasks = airflow.get(f"{run}/taskInstances")["task_instances"]
    return {task["task_id"]: task["state"] for task in tasks}


def await_end(airflow: Airflow, run: str) -> dict[str, str]:
    wait_until(lambda: airflow.get(run)["state"] in ENDED, 180, f"{run} at its end")
    return states(airflow, run)


def test_the_fleet_page_shows_who_signed_in_how_the_pipeline_is(up: Stack) -> None:
    airflow = up.airflow()

    def card() -> Any:
        (found,) = airflow.get("/fleet/api/pipelines")["pipelines"]
        return found

    wait_until(lambda: card()["state"] == "healthy", 120, "healthy on the page")
    wait_until(lambda: card()["rows_per_s"] > 0, 60, "a rate on the page")
    assert airflow.get("/fleet/api/pipelines")["may_operate"] == ["temperature"]
    assert airflow.client.get("/fleet/fleet.js").text.startswith("// The Fleet page")
    stranger = httpx.Client(
        base_url=airflow.client.base_url,
        verify=False,  # noqa: S501 - it sends nothing
    )
    for path in ("/fleet/api/pipelines", "/fleet/api/pipelines/temperature", "/fleet/fleet.js"):
        assert stranger.get(path).status_code == httpx.codes.UNAUTHORIZED


def test_a_replay_adds_what_is_missing_after_a_persons_yes(up: Stack) -> None:
    """Takes more than a minute: a task plans, a person answers, and another task does it."""
    airflow = up.airflow()
    bronze = DeltaTable(str(up.home / "var" / "lake" / "bronze" / "temperature"))
    assert bronze.delete(LOST)["num_deleted_rows"] == 5
    run = begin(airflow, "replay", {"pipeline": "temperature", "sites": ["plant-a"]})
    wait_until(lambda: states(airflow, run)["approve"] == "awaiting_input", 180, "the question")
    asked = f"{run}/taskInstances/approve/-1/hitlDetails"
    assert "missing in bronze: 5 [3..7]" in airflow.get(asked)["body"]
    assert sum(up.bronze()[row] for row in lost()) == 0, "nothing is added before the yes"

    def has_my_yes() -> bool:
        state = states(airflow, run)["approve"]
        if state == "awaiting_input":
            await_scheduler(airflow)
            airflow.client.patch(asked, json={"chosen_options": ["Approve"]})
        return state == "success"

    wait_until(has_my_yes, 120, "approved", poll_s=1)
    assert set(await_end(airflow, run).values()) == {"success"}
    rows = up.bronze()
    assert [rows[row] for row in lost()] == [1] * 5
    assert set(rows.values()) == {1}


def await_scheduler(airflow: Airflow) -> None:
    """No person answers sooner than the scheduler has seen the question; a test might."""

    def heard() -> str:
        part = airflow.get("/api/v2/monitor/health")["scheduler"]
        return str(part["latest_scheduler_heartbeat"])

    # A sign of life may come from before the question; with the second, a whole round is over.
    for _ in range(2):
        before = heard()
        wait_until(lambda before=before: heard() != before, 60, "heard of the scheduler again")


def lost() -> list[tuple[str, str, int, int]]:
    return [("plant-a", "temperature-data", 0, offset) for offset in range(3, 8)]


def test_maintenance_says_what_it_will_do_before_it_does_it(up: Stack) -> None:
    airflow = up.airflow()
    airflow.pause(paused=False, dag="maintain.temperature")
    try:
        run = begin(airflow, "maintain.temperature", {})
        ended = await_end(airflow, run)
    finally:
        airflow.pause(paused=True, dag="maintain.temperature")
    assert ended["plan"] == "success"
    assert set(ended.values()) <= {"success", "skipped"}
    log = str(airflow.get(f"{run}/taskInstances/plan/logs/1"))
    assert "LAYER" in log
    assert "quarantine" in log or "bronze" in log


def test_history_is_pruned_by_airflows_own_command(up: Stack) -> None:
    """A task has no way to Airflow's database; the command that it starts has one."""
    airflow = up.airflow()
    run = begin(airflow, "prune", {})
    assert await_end(airflow, run) == {"database": "success", "logs": "success"}
    log = str(airflow.get(f"{run}/taskInstances/database/logs/1"))
    assert "rows that went: 0" in log, "nothing is 90 days old"
