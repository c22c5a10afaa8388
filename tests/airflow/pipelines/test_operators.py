"""Operators run, wait and go on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from millrace.base.errors import MillraceError
from millrace.ingest.io.ingest_deployment import read_deployment
from millrace.jobs.io.deployments import remember
from millrace.platform.core.platform import Platform
from millrace.platform.io.environment import platform_here
from millrace_airflow.base.host import AirflowFailException, TaskDeferred
from millrace_airflow.jobs.job_operators import (
    DeployOperator,
    JobOperator,
    SuperviseOperator,
)
from millrace_airflow.jobs.job_trigger import BudgetTrigger, JobTrigger
from tests.airflow.fakes import InMemoryRunner
from tests.airflow.jobs.test_ensure import edit, keeper, use_up_the_budget

CONTEXT: Any = {"ti": SimpleNamespace(xcom_push=lambda **_: None)}


def deploy() -> DeployOperator:
    return DeployOperator(task_id="deploy", kind="ingest", job="temperature")


def supervise() -> SuperviseOperator:
    return SuperviseOperator(
        task_id="supervise", kind="ingest", job="temperature", shift=timedelta(hours=12)
    )


def resume(operator: JobOperator, deferred: TaskDeferred, event: dict[str, str]) -> Any:
    return getattr(operator, deferred.method_name)(CONTEXT, event=event)


@pytest.fixture(autouse=True)
def provisioned(layout: Platform) -> None:
    remember(layout, read_deployment(layout, "temperature"))


REMOTE = """\
store: {kind: s3, bucket: plant-data}
kubernetes: {namespace: m, image: i, service_account: s, secret: l}
"""


@pytest.mark.parametrize(("runner", "poll_s"), [("memory", 2.0), ("kubernetes", 10.0)])
def test_a_service_elsewhere_is_asked_less_often(
    layout: Platform, runner: str, poll_s: float
) -> None:
    layout.local_settings.parent.mkdir()
    layout.local_settings.write_text(REMOTE)
    edit(layout, "runner: memory", f"runner: {runner}")
    here = platform_here()
    remember(here, read_deployment(here, "temperature"))
    with pytest.raises(TaskDeferred) as deferred:
        supervise().execute(CONTEXT)
    assert deferred.value.trigger.poll_s == poll_s


def test_deploy_says_what_it_did(layout: Platform) -> None:
    assert deploy().execute(CONTEXT) == {
        "what": "started",
        "why": "first start",
        "generation": 1,
        "pid": 4242,
    }
    assert deploy().execute(CONTEXT)["what"] == "adopted"


def test_deploy_starts_what_was_provisioned_not_what_was_edited_since(layout: Platform) -> None:
    wanted = read_deployment(layout, "temperature").job(layout).fingerprint
    edit(layout, "temperature-data", "other-data")
    deploy().execute(CONTEXT)
    assert InMemoryRunner.jobs["temperature"].fingerprint == wanted


def test_deploy_waits_when_the_budget_is_used_up(layout: Platform) -> None:
    use_up_the_budget(layout)
    with pytest.raises(TaskDeferred) as waiting:
        deploy().execute(CONTEXT)
    assert isinstance(waiting.value.trigger, BudgetTrigger)
    (layout.job("temperature") / "starts.json").unlink()
    done = resume(deploy(), waiting.value, {"status": "allowed", "reason": ""})
    assert done["what"] == "started"


def test_deploy_fails_for_good_when_the_job_cannot_be_started(layout: Platform) -> None:
    InMemoryRunner.start_error = MillraceError("Java 17 is missing")
    with pytest.raises(AirflowFailException, match="Java 17 is missing"):
        deploy().execute(CONTEXT)


def test_supervise_waits_for_one_shift(layout: Platform) -> None:
    with pytest.raises(TaskDeferred) as waiting:
        supervise().execute(CONTEXT)
    trigger = waiting.value.trigger
    assert isinstance(trigger, JobTrigger)
    left = datetime.fromisoformat(trigger.ends_at) - datetime.now(UTC)
    assert timedelta(hours=11, minutes=59) < left <= timedelta(hours=12)


@pytest.mark.parametrize("status", ["changed", "handover"])
def test_supervise_ends_well_when_the_next_run_is_to_take_over(
    layout: Platform, status: str
) -> None:
    with pytest.raises(TaskDeferred) as waiting:
        supervise().execute(CONTEXT)
    assert resume(supervise(), waiting.value, {"status": status, "reason": "why"}) == "why"


def test_supervise_fails_with_the_reason_of_the_job(layout: Platform) -> None:
    with pytest.raises(TaskDeferred) as waiting:
        supervise().execute(CONTEXT)
    with pytest.raises(AirflowFailException, match="exit 137"):
        resume(supervise(), waiting.value, {"status": "failed", "reason": "exit 137"})


def test_a_killed_deploy_stops_the_job(layout: Platform) -> None:
    keeper(layout).ensure()
    deploy().on_kill()
    assert InMemoryRunner.calls == ["start", "stop"]
