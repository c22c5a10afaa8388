"""What the Fleet page's buttons call is refused to viewers by Airflow itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from airflow.api_fastapi.app import create_app
from fastapi.testclient import TestClient
from httpx import Response

from millrace.platform.core.platform import Platform
from tests.airflow.bag import DagBag, tell_database
from tests.airflow.conftest import REPOSITORY
from tests.airflow.fleet.test_fleet import signed_in

_PIPELINE = "/api/v2/dags/pipeline.temperature"
_REPLAYS = "/api/v2/dags/replay/dagRuns"


@dataclass(frozen=True)
class Browser:
    """Sends what fleet.js sends, as somebody."""

    server: TestClient
    role: str

    def send(self, method: str, path: str, body: dict[str, Any] | None = None) -> Response:
        return self.server.request(method, path, json=body, headers=signed_in(self.role))

    def pause(self, *, paused: bool) -> Response:
        return self.send("PATCH", _PIPELINE, {"is_paused": paused})

    def running(self) -> Response:
        return self.send("GET", f"{_PIPELINE}/dagRuns?state=running")

    def end_shift(self, run: str) -> Response:
        task = f"{_PIPELINE}/dagRuns/{run}/taskInstances/supervise"
        return self.send("PATCH", task, {"new_state": "failed"})

    def trigger(self, runs: str, conf: dict[str, Any] | None = None) -> Response:
        # Two runs of a DAG have no moment in common.
        moment = datetime.now(UTC).isoformat()
        return self.send("POST", runs, {"logical_date": moment, "conf": conf or {}})


@pytest.fixture(scope="module")
def server(database: None) -> TestClient:
    return TestClient(create_app(apps="core"))


@pytest.fixture
def run(server: TestClient, layout: Platform) -> Iterator[str]:
    """A run of the pipeline's DAG, whose shift may be ended."""
    for file in ("pipelines.py", "replay.py"):
        tell_database(DagBag(dag_folder=REPOSITORY / "dags" / file))
    begun = Browser(server, "ADMIN").trigger(f"{_PIPELINE}/dagRuns")
    assert begun.status_code == 200, begun.text
    yield begun.json()["dag_run_id"]
    server.delete(f"{_PIPELINE}/dagRuns/{begun.json()['dag_run_id']}", headers=signed_in("ADMIN"))


def press_all(browser: Browser, run: str) -> dict[str, int]:
    answers = {
        "Stop: pause": browser.pause(paused=True),
        "Stop, Restart: end the shift": browser.end_shift(run),
        "Start, Restart: unpause": browser.pause(paused=False),
        "Replay": browser.trigger(_REPLAYS, {"pipeline": "temperature", "dry_run": True}),
    }
    return {name: answer.status_code for name, answer in answers.items()}


@pytest.mark.parametrize("role", ["OP", "ADMIN"])
def test_who_may_operate_may_press_every_button(server: TestClient, run: str, role: str) -> None:
    browser = Browser(server, role)
    assert set(press_all(browser, run).values()) == {200}
    (task,) = tasks(browser, run, "supervise")
    assert task["state"] == "failed"


def test_a_viewer_who_tries_is_refused_and_nothing_changes(server: TestClient, run: str) -> None:
    viewer = Browser(server, "VIEWER")
    before = state(viewer, run)
    assert set(press_all(viewer, run).values()) == {403}
    assert state(viewer, run) == before
    assert viewer.running().status_code == 200


def test_nobody_presses_a_button_without_a_name(server: TestClient, run: str) -> None:
    for method, path in (("PATCH", _PIPELINE), ("POST", _REPLAYS)):
        assert server.request(method, path, json={}).status_code == 401


def state(browser: Browser, run: str) -> tuple[Any, ...]:
    return (
        browser.send("GET", _PIPELINE).json()["is_paused"],
        [task["state"] for task in tasks(browser, run, "supervise")],
        browser.send("GET", _REPLAYS).json()["total_entries"],
    )


def tasks(browser: Browser, run: str, task_id: str) -> list[dict[str, Any]]:
    found = browser.send("GET", f"{_PIPELINE}/dagRuns/{run}/taskInstances").json()
    return [one for one in found["task_instances"] if one["task_id"] == task_id]
