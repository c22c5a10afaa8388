"""The DAG `infrastructure`: its form, with the environments there are, and its shape."""

from __future__ import annotations

from airflow.sdk import DAG, Param

from millrace.cloud.core.infrastructure import TerraformAction
from millrace.cloud.io.environment_run import known_environments
from millrace.deployments import text as docs
from millrace.platform.core.platform import Platform
from millrace_airflow.cloud.infrastructure_operators import (
    ApplyInfrastructureOperator,
    ApproveInfrastructureOperator,
    PlanInfrastructureOperator,
)


def infrastructure_dag(layout: Platform) -> DAG:
    with DAG(
        "infrastructure",
        description="Brings up, changes or destroys the cloud's parts, after a person's yes",
        doc_md=docs.INFRASTRUCTURE,
        schedule=None,
        params=_form(known_environments(layout)),
        tags={"infrastructure"},
        catchup=False,
        max_active_runs=1,
        is_paused_upon_creation=False,
    ) as dag:
        (
            PlanInfrastructureOperator(task_id="plan")
            >> ApproveInfrastructureOperator(task_id="approve")
            >> ApplyInfrastructureOperator(task_id="apply")
        )
    return dag


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
        "typed": Param(
            None,
            type=["null", "string"],
            title="Type the environment's name",
            description="For destroy: once more, to be sure.",
        ),
        "dry_run": Param(
            False,
            type="boolean",
            title="Dry run",
            description="Only show the plan; ask nobody and change nothing.",
        ),
    }
