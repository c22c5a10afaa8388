"""The DAG `infrastructure`: its form, with the environments there are, and its shape."""

from __future__ import annotations

from airflow.sdk import DAG, Param

from millrace.cloud.core.infrastructure import TerraformAction
from millrace.cloud.io.environment_run import known_environments
from millrace.deployments import text as docs
from millrace.platform.core.platform import Platform
from millrace_airflow.base.plan_approve_do import plan_approve_do, text_field, tick
from millrace_airflow.cloud.infrastructure_operators import (
    ApplyInfrastructureOperator,
    PlanInfrastructureOperator,
    approve_infrastructure,
)


def infrastructure_dag(layout: Platform) -> DAG:
    return plan_approve_do(
        "infrastructure",
        form=_form(known_environments(layout)),
        plan=lambda: PlanInfrastructureOperator(task_id="plan"),
        approve=approve_infrastructure,
        do=lambda: ApplyInfrastructureOperator(task_id="apply"),
        description="Brings up, changes or destroys the cloud's parts, after a person's yes",
        doc_md=docs.INFRASTRUCTURE,
    )


def _form(known: list[str]) -> dict[str, Param]:
    return {
        "environment": Param(
            known[0] if known else None,
            type="string" if known else "null",
            enum=known or [None],
            title="Environment",
            description="Which folder of terraform/environments.",
        ),
        "action": Param(
            TerraformAction.APPLY.value,
            type="string",
            enum=[action.value for action in TerraformAction],
            title="Action",
            description="apply: makes the cloud as the files say. destroy: takes away all that the"
            " environment has. Either is planned first, and waits for your yes to that plan.",
        ),
        "typed": text_field("Type the environment's name", "For destroy: once more, to be sure."),
        "dry_run": tick("Dry run", "Only show the plan; ask nobody and change nothing."),
    }
