"""Waits for a person's yes: in Airflow's own way, or where it has none by a mark on the task."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.providers.standard.triggers.temporal import DateTimeTrigger
from airflow.sdk import BaseOperator, Context

from millrace.deployments.io.keeper import utc_now
from millrace_airflow.base.host import HAS_APPROVALS, AirflowFailException

_WAITS = timedelta(days=7)
_HOW = "To agree, mark this task as success. To refuse, mark it as failed."


class MarkOperator(BaseOperator):
    """Takes what `ApprovalOperator` takes. Who gave the mark stands in Airflow's audit log."""

    template_fields = ("subject", "body")

    def __init__(self, *, subject: str, body: str, **kwargs: Any) -> None:
        super().__init__(**{"doc_md": _HOW, **kwargs})
        self.subject = subject
        self.body = body

    def execute(self, context: Context) -> None:
        for line in (self.subject, *self.body.splitlines(), _HOW):
            self.log.info("%s", line)
        self.defer(trigger=DateTimeTrigger(moment=utc_now() + _WAITS), method_name="give_up")

    def give_up(self, context: Context, event: object = None) -> None:
        raise AirflowFailException(f"nobody answered within {_WAITS.days} days; trigger it again")


if HAS_APPROVALS:
    from airflow.providers.standard.operators.hitl import ApprovalOperator
else:
    ApprovalOperator = MarkOperator  # type: ignore[assignment, misc]
