"""What differs between the Airflows that run us, and what stands in for what one has not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from airflow import __version__
from airflow.providers.standard.triggers.temporal import DateTimeTrigger
from airflow.sdk import BaseOperator
from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance
from airflow.sdk.execution_time.xcom import XCom

from millrace.deployments.io.keeper import utc_now
from millrace.platform.core.platform import Platform
from millrace_airflow.base import host
from millrace_airflow.base.cancelled_task import was_ended, was_taken_away
from millrace_airflow.base.host import AirflowFailException, TaskDeferred
from millrace_airflow.base.mark_operators import ApprovalOperator, MarkOperator
from millrace_airflow.tasks.task_operators import QualityOperator
from tests.airflow.bag import DagBag
from tests.airflow.conftest import REPOSITORY

CAN = {
    "3.0.6": (False, False, False, False),
    "3.3.2": (True, True, True, True),
}


def ask() -> MarkOperator:
    return MarkOperator(task_id="approve", subject="Add?", body="3 rows are missing\nof site a")


def test_what_each_airflow_can() -> None:
    can = (host.HAS_APPROVALS, host.HAS_PAGES, host.TELLS_TRIGGERS, host.SHARES_STREAMS)
    assert can == CAN[__version__]


def test_approvals_are_airflows_own_where_it_has_them() -> None:
    assert issubclass(ApprovalOperator, BaseOperator)
    assert (ApprovalOperator is MarkOperator) is not host.HAS_APPROVALS


def test_a_mark_is_waited_for_without_a_worker_and_the_task_says_how() -> None:
    operator = ask()
    with pytest.raises(TaskDeferred) as waiting:
        operator.execute({})
    trigger = waiting.value.trigger
    assert isinstance(trigger, DateTimeTrigger)
    assert trigger.moment - utc_now() > timedelta(days=6)
    assert "mark this task as success" in operator.doc_md


def test_a_question_that_nobody_answers_is_a_no() -> None:
    with pytest.raises(AirflowFailException, match="nobody answered"):
        ask().give_up({}, None)


def test_a_link_that_a_browser_may_not_follow_is_not_shown() -> None:
    """Routes of a plugin take a token alone where Airflow has no pages of plugins."""
    links = [link.name for link in QualityOperator.operator_extra_links]
    assert links == (["Result page"] if host.HAS_PAGES else [])


def test_there_is_no_dag_for_events_that_airflow_cannot_hear(layout: Platform) -> None:
    layout.local_settings.parent.mkdir()
    layout.local_settings.write_text("events_site: plant-a\n")
    found = DagBag(dag_folder=REPOSITORY / "dags" / "incident.py", safe_mode=True)
    assert found.import_errors == {}
    assert list(found.dags) == (["incident"] if host.SHARES_STREAMS else [])


TASK = SimpleNamespace(dag_id="pipeline.temperature", run_id="r", task_id="supervise")


def no_answer(**_: Any) -> Any:
    raise EOFError


@pytest.mark.parametrize(
    ("answer", "ended"),
    [
        (lambda **_: {"r": {"supervise": "deferred"}}, False),
        (lambda **_: {"r": {"supervise": "failed"}}, True),
        (lambda **_: {"r": {"supervise": "success"}}, True),
        (lambda **_: {"r": {"supervise": None}}, True),
        (lambda **_: {}, False),
        (no_answer, False),
    ],
    ids=["waits", "failed", "success", "cleared", "gone", "no answer"],
)
def test_only_a_task_that_waits_no_more_was_ended(
    monkeypatch: pytest.MonkeyPatch, answer: Callable[..., Any], ended: bool
) -> None:
    monkeypatch.setattr(RuntimeTaskInstance, "get_task_states", answer)
    assert asyncio.run(was_ended(TASK)) is ended


@pytest.mark.parametrize(
    ("answer", "sign", "taken_away"),
    [
        (lambda **_: {}, None, True),
        (lambda **_: {"r": {"supervise": None}}, None, True),
        (lambda **_: {"r": {"supervise": "scheduled"}}, None, True),
        (lambda **_: {"r": {"supervise": None}}, True, False),
        (lambda **_: {"r": {"supervise": "queued"}}, True, False),
        (lambda **_: {"r": {"supervise": "failed"}}, None, False),
        (lambda **_: {"r": {"supervise": "success"}}, None, False),
        (no_answer, None, False),
    ],
    ids=[
        "gone",
        "made anew",
        "to run",
        "cleared",
        "to run again",
        "failed",
        "success",
        "no answer",
    ],
)
def test_a_task_that_a_clean_took_is_told_from_one_that_a_person_ended(
    monkeypatch: pytest.MonkeyPatch, answer: Callable[..., Any], sign: object, taken_away: bool
) -> None:
    monkeypatch.setattr(RuntimeTaskInstance, "get_task_states", answer)
    monkeypatch.setattr(XCom, "get_one", lambda **_: sign)
    assert asyncio.run(was_taken_away(TASK)) is taken_away
