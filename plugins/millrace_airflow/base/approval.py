"""A person's yes to what a task before it has shown."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import Context

from millrace_airflow.base.host import AirflowSkipException
from millrace_airflow.base.mark_operators import ApprovalOperator

# Airflow 3.3 fails a task that is answered before its scheduler saw it waiting; asked again, it is.
ASKED_AGAIN: dict[str, Any] = {"retries": 2, "retry_delay": timedelta(seconds=1)}


def as_list(text: str) -> str:
    """Airflow's page joins the lines of a code block, and keeps those of a list."""
    return "".join(f"- `{line.strip()}`\n" for line in text.splitlines() if line.strip())


class ApprovePlanOperator(ApprovalOperator):
    """Shows the `text` of the task `shown_by`; skipped in a dry run."""

    def __init__(self, *, shown_by: str, **kwargs: Any) -> None:
        super().__init__(body="", **ASKED_AGAIN, **kwargs)
        self.shown_by = shown_by

    def execute(self, context: Context) -> Any:
        if context["params"]["dry_run"]:
            raise AirflowSkipException("a dry run was asked for")
        self.body = as_list(context["ti"].xcom_pull(task_ids=self.shown_by)["text"])
        return super().execute(context)
