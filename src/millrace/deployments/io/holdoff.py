"""Keeps a pipeline that fails at once from failing without a pause.

A `@continuous` DAG begins its next run the moment the last one ended, however it ended.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

_PAUSE = timedelta(seconds=30)


def begins_at(ti: Any) -> datetime | None:
    """When this run may begin; None for at once, unless the last one never came to supervise.

    A run whose supervise task failed had a job that ran, or that a person stopped.
    """
    last = ti.get_previous_dagrun()
    if last is None or last.state != "failed" or last.end_date is None:
        return None
    states = ti.get_task_states(
        dag_id=ti.dag_id, run_ids=[last.run_id], task_ids=["supervise"]
    ).get(last.run_id, {})
    return None if states.get("supervise") == "failed" else last.end_date + _PAUSE
