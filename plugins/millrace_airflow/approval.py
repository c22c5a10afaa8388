"""A person's yes to what a task before it has shown."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import Context

from millrace_airflow.host import AirflowSkipException
from millrace_airflow.mark_operators import ApprovalOperator

# Airflow's page joins the lines of a code block, and keeps those of a list.
_LINES = (
    "{% for line in ti.xcom_pull(task_ids='SHOWN_BY')['text'].splitlines() if line.strip() %}"
    "- `{{ line.strip() }}`\n{% endfor %}"
)


class ApprovePlanOperator(ApprovalOperator):
    """Shows the `text` of the task `shown_by`; skipped in a dry run."""

    def __init__(self, *, shown_by: str, **kwargs: Any) -> None:
        super().__init__(
            body=_LINES.replace("SHOWN_BY", shown_by),
            # Airflow 3.3 fails a task that is answered before its scheduler saw it waiting.
            retries=2,
            retry_delay=timedelta(seconds=1),
            **kwargs,
        )

    def execute(self, context: Context) -> Any:
        if context["params"]["dry_run"]:
            raise AirflowSkipException("a dry run was asked for")
        return super().execute(context)
