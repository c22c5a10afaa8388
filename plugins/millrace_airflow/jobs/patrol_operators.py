"""The DAG `patrol`: stops a job that runs though its DAG has ended and begins no other run.

A person's *mark failed* reaches a job through the triggerer, and is never said again: one that was
away at that moment never hears it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

from airflow.sdk import DAG, BaseOperator, Context
from airflow.triggers.base import BaseTrigger, TriggerEvent

from millrace.deployments.io.keeper import STOP_TIMEOUT_S, utc_now
from millrace.deployments.text import PATROL
from millrace.jobs.core.condition import Condition
from millrace.jobs.core.patrol import is_unwatched
from millrace.jobs.core.spec import JobState, Runner
from millrace.jobs.io.deployments import recall
from millrace.jobs.io.installed_kinds import load_kind
from millrace.jobs.io.load_runner import load_runner
from millrace.jobs.io.mailbox import Mailbox
from millrace.platform.core.platform import Platform
from millrace.platform.io.environment import platform_here
from millrace_airflow.base.serialized import serialized
from millrace_airflow.jobs.job_dag import CONTINUOUS, SHIFT

_ALIVE = ["queued", "running"]


class PatrolTrigger(BaseTrigger):
    """Looks at every job that was ever started, until one runs unwatched or the shift is over."""

    def __init__(self, ends_at: str, poll_s: float = 10.0) -> None:
        super().__init__()
        self.ends_at = ends_at
        self.poll_s = poll_s

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return serialized(self, "ends_at", "poll_s")

    async def run(self) -> AsyncIterator[TriggerEvent]:
        began, ends_at = utc_now(), datetime.fromisoformat(self.ends_at)
        found: list[str] = []
        while not found and utc_now() < ends_at:
            await asyncio.sleep(self.poll_s)
            found = await asyncio.to_thread(run_unwatched, platform_here(), began, utc_now())
        yield TriggerEvent(found)


class PatrolOperator(BaseOperator):
    """Stops what nobody watches and no run of its DAG will watch again."""

    def __init__(self, *, shift: timedelta, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.shift = shift

    def execute(self, context: Context) -> None:
        trigger = PatrolTrigger((utc_now() + self.shift).isoformat())
        self.defer(trigger=trigger, method_name="resume")

    def resume(self, context: Context, event: list[str]) -> list[str]:
        return [name for name in event if self._stop_unless_wanted(context, name)]

    def _stop_unless_wanted(self, context: Context, name: str) -> bool:
        dag_id = dag_id_of(platform_here(), name)
        if dag_id and context["ti"].get_dr_count(dag_id=dag_id, states=_ALIVE):
            self.log.info("the job %s is not watched just now; a run of %s goes on", name, dag_id)
            return False
        self.log.warning("stopping the job %s: no run of its DAG %s is there", name, dag_id)
        stop(platform_here(), name)
        return True


def patrol_dag() -> DAG:
    with DAG(
        "patrol",
        description="Stops jobs that no run of their DAG watches",
        doc_md=PATROL,
        schedule="@continuous",
        tags={"patrol"},
        **CONTINUOUS,
    ) as dag:
        PatrolOperator(task_id="look", shift=SHIFT)
    return dag


def stop(layout: Platform, name: str) -> None:
    runner, mailbox = _runner(layout, name), Mailbox(layout.job(name))
    if runner:
        runner.stop(name, STOP_TIMEOUT_S)
        reason = "no run of its DAG watched it"
        mailbox.write_journal(mailbox.read_journal().noting(utc_now(), Condition.STOPPED, reason))


def run_unwatched(layout: Platform, began: datetime, now: datetime) -> list[str]:
    """The jobs that run, and whose watch gave no sign for too long."""
    folders = sorted(layout.jobs.iterdir()) if layout.jobs.is_dir() else []
    quiet = [f.name for f in folders if is_unwatched(Mailbox(f).watched_at(), began, now)]
    return [name for name in quiet if _runs(layout, name)]


def dag_id_of(layout: Platform, name: str) -> str | None:
    """Of the DAG that keeps the job; None where nobody knows the job any more."""
    deployment = recall(layout, name)
    return load_kind(deployment.kind).dag_id(name) if deployment else None


def _runs(layout: Platform, name: str) -> bool:
    runner = _runner(layout, name)
    return runner is not None and runner.status(name).state == JobState.RUNNING


def _runner(layout: Platform, name: str) -> Runner | None:
    deployment = recall(layout, name)
    return load_runner(deployment.runner, layout) if deployment else None
