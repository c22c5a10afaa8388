"""The three tasks of a job, of any kind: provision, deploy, supervise."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.providers.standard.triggers.temporal import DateTimeTrigger
from airflow.sdk import BaseOperator, Context

from millrace.deployments.io.holdoff import begins_at
from millrace.deployments.io.keeper import BudgetUsedUpError, Keeper, utc_now
from millrace.deployments.io.watch import Event
from millrace.jobs.core.deployment import Deployment
from millrace.jobs.io.deployments import provision, read_or_recall, recall
from millrace.platform.core.platform import Platform
from millrace.platform.io.environment import platform_here
from millrace_airflow.base.cancelled_task import SIGN
from millrace_airflow.base.host import AirflowFailException
from millrace_airflow.base.plain_errors import said_plainly
from millrace_airflow.jobs.job_trigger import (
    POLL_S,
    REMOTE_POLL_S,
    BudgetTrigger,
    JobTrigger,
)


class JobOperator(BaseOperator):
    """A task about one job."""

    def __init__(self, *, kind: str, job: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.kind = kind
        self.job = job

    @property
    def layout(self) -> Platform:
        return platform_here()

    def deployment(self) -> Deployment:
        """What this run's first task provisioned."""
        return recall(self.layout, self.job) or read_or_recall(self.layout, self.kind, self.job)


class ProvisionOperator(JobOperator):
    """Makes topics, users, ACLs, tables and checkpoint folders."""

    def execute(self, context: Context) -> list[str]:
        resume_at = begins_at(context["ti"])
        if resume_at and resume_at > utc_now():
            self.log.info("the last run failed before its job ran; waiting until %s", resume_at)
            self.defer(trigger=DateTimeTrigger(moment=resume_at), method_name="provision")
        return self.provision(context)

    def provision(self, context: Context, event: object = None) -> list[str]:
        ti = context["ti"]
        with said_plainly():
            changes = provision(
                read_or_recall(self.layout, self.kind, self.job),
                self.layout,
                last_try=ti.try_number > ti.max_tries,
            )
        for change in changes or ["nothing to change"]:
            self.log.info("%s", change)
        return changes


class DeployOperator(JobOperator):
    """Starts the job, adopts the one that runs, or replaces one that runs other files."""

    def execute(self, context: Context) -> dict[str, Any]:
        try:
            with said_plainly():
                outcome = Keeper(self.deployment(), self.layout).ensure()
        except AirflowFailException as error:
            if isinstance(error.__cause__, BudgetUsedUpError):
                self._wait(str(error))
            raise
        done = outcome.as_xcom()
        self.log.info("deployed: %s", done)
        return done

    def _wait(self, why: str) -> None:
        self.log.error("%s", why)
        self.log.info("waiting until the next try is allowed, or a file changes")
        trigger = BudgetTrigger(
            self.kind, self.job, self.deployment().digest, ends_at=utc_now().isoformat()
        )
        self.defer(trigger=trigger, method_name="resume")

    def resume(self, context: Context, event: Event) -> dict[str, Any]:
        if event["status"] == "failed":
            raise AirflowFailException(event["reason"])
        if event["status"] == "changed":
            self.log.info("%s", event["reason"])
            return {"what": "nothing", "why": event["reason"]}
        return self.execute(context)

    def on_kill(self) -> None:
        # Airflow kills this process after 5 s; by then the job was asked to finish its batch.
        Keeper(self.deployment(), self.layout).stop()


class SuperviseOperator(JobOperator):
    """Watches the job for one shift; the trigger restarts it when it dies."""

    def __init__(self, *, shift: timedelta, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.shift = shift

    def execute(self, context: Context) -> None:
        ends_at = utc_now() + self.shift
        self.log.info("watching until %s, or until a file changes", ends_at)
        context["ti"].xcom_push(key=SIGN, value=True)
        deployment = self.deployment()
        poll_s = REMOTE_POLL_S if deployment.is_remote else POLL_S
        trigger = JobTrigger(self.kind, self.job, deployment.digest, ends_at.isoformat(), poll_s)
        self.defer(trigger=trigger, method_name="resume")

    def resume(self, context: Context, event: Event) -> str:
        if event["status"] == "failed":
            raise AirflowFailException(event["reason"])
        self.log.info("%s", event["reason"])
        return event["reason"]
