"""Terraform from a form: its plan, a person's yes, and then exactly that plan."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, NoReturn

from airflow.sdk import BaseOperator, Context

from millrace.cloud.core.infrastructure import EnvironmentRequest, TerraformAction
from millrace.cloud.io.environment_run import APPLY, PLAN, Infrastructure
from millrace.cloud.io.terraform_run import TerraformRun
from millrace.platform.io.environment import platform_here
from millrace_airflow.base.plain_errors import said_plainly
from millrace_airflow.base.plan_approve_do import ApprovePlanOperator
from millrace_airflow.cloud.infrastructure_trigger import InfrastructureTrigger


class TerraformOperator(BaseOperator):
    """Begins a step, or finds the one that its worker's death has left, and waits in the triggerer.

    Terraform is no child of the task, which Airflow would kill after 5 s: it would lose its state.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"retries": 2, "retry_delay": timedelta(seconds=10), **kwargs})
        self._run: TerraformRun | None = None

    def infrastructure(self, context: Context) -> Infrastructure:
        layout = platform_here()
        return Infrastructure(layout, context["params"]["environment"] or "", context["run_id"])

    def await_end(self, context: Context, run: TerraformRun) -> NoReturn:
        self._run = run
        self.log.info(
            "terraform is at work; its log comes here at its end, until then: %s", run.log
        )
        trigger = InfrastructureTrigger(
            context["params"]["environment"], context["run_id"], run.folder.name
        )
        self.defer(trigger=trigger, method_name="resume")

    def tell(self, run: TerraformRun) -> None:
        for line in run.text().splitlines():
            self.log.info("%s", line)

    def on_kill(self) -> None:
        if self._run:
            self._run.ask_to_stop()


class PlanInfrastructureOperator(TerraformOperator):
    """What Terraform would do; changes nothing."""

    def execute(self, context: Context) -> NoReturn:
        with said_plainly():
            run = self.infrastructure(context).begin_plan(request_of(context["params"]))
        self.await_end(context, run)

    def resume(self, context: Context, event: object = None) -> dict[str, str | bool]:
        infrastructure = self.infrastructure(context)
        self.tell(infrastructure.step(PLAN))
        with said_plainly():
            agreement = infrastructure.end_plan()
        for line in agreement.text.splitlines():
            self.log.info("%s", line)
        return agreement.model_dump()


def approve_infrastructure() -> ApprovePlanOperator:
    return ApprovePlanOperator(
        task_id="approve",
        subject="{{ params.action | capitalize }} environment {{ params.environment }}?",
        shown_by=PLAN,
        needs="has_changes",
        needless="nothing to change",
    )


class ApplyInfrastructureOperator(TerraformOperator):
    """Does what was agreed to, and nothing else."""

    def execute(self, context: Context) -> NoReturn:
        agreed = context["ti"].xcom_pull(task_ids=PLAN)
        request = request_of(context["params"])
        with said_plainly():
            run = self.infrastructure(context).begin_apply(request, agreed["digest"])
        self.await_end(context, run)

    def resume(self, context: Context, event: object = None) -> None:
        infrastructure = self.infrastructure(context)
        self.tell(infrastructure.step(APPLY))
        with said_plainly():
            infrastructure.end_apply()


def request_of(form: Any) -> EnvironmentRequest:
    return EnvironmentRequest(
        environment=form["environment"] or "",
        action=TerraformAction(form["action"]),
        typed=form["typed"] or "",
        dry_run=form["dry_run"],
    )
