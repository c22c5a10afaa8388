"""DAGs that a person starts with a form: a plan, a yes to it, and then exactly that."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, BaseOperator, Context, Param

from millrace_airflow.base.host import AirflowSkipException
from millrace_airflow.base.mark_operators import ApprovalOperator

# Airflow 3.3 fails a task that is answered before its scheduler saw it waiting; asked again, it is.
ASKED_AGAIN: dict[str, Any] = {"retries": 2, "retry_delay": timedelta(seconds=1)}


def as_list(text: str) -> str:
    """Airflow's page joins the lines of a code block, and keeps those of a list."""
    return "".join(f"- `{line.strip()}`\n" for line in text.splitlines() if line.strip())


class ApprovePlanOperator(ApprovalOperator):
    """Shows the `text` of the task `shown_by`, and waits for a person.

    Skipped in a dry run, and where the value that task has under `needs` is none: nothing is to be
    decided then, which `needless` says.
    """

    def __init__(
        self, *, shown_by: str, needs: str = "", needless: str = "", **kwargs: Any
    ) -> None:
        super().__init__(body="", **ASKED_AGAIN, **kwargs)
        self.shown_by = shown_by
        self.needs = needs
        self.needless = needless

    def execute(self, context: Context) -> Any:
        shown = context["ti"].xcom_pull(task_ids=self.shown_by)
        if self.needs and not shown[self.needs]:
            raise AirflowSkipException(self.needless)
        if context["params"]["dry_run"]:
            raise AirflowSkipException("a dry run was asked for")
        self.body = as_list(shown["text"])
        return super().execute(context)


def plan_approve_do(
    dag_id: str,
    *,
    form: dict[str, Param],
    plan: Callable[[], BaseOperator],
    approve: Callable[[], ApprovePlanOperator],
    do: Callable[[], BaseOperator],
    description: str,
    doc_md: str,
) -> DAG:
    """The form is shown by Airflow when the DAG is triggered."""
    with DAG(
        dag_id,
        description=description,
        doc_md=doc_md,
        schedule=None,
        params=form,
        tags={dag_id},
        catchup=False,
        max_active_runs=1,
        is_paused_upon_creation=False,
    ) as dag:
        plan() >> approve() >> do()
    return dag


def text_field(title: str, description: str, **rules: Any) -> Param:
    return Param(None, type=["null", "string"], title=title, description=description, **rules)


def tick(title: str, description: str) -> Param:
    return Param(False, type="boolean", title=title, description=description)
