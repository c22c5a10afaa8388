"""Whether a person ended a task: asked by its trigger, where Airflow (before 3.3) does not say."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from asgiref.sync import sync_to_async

log = logging.getLogger(__name__)

_WAITING = "deferred"
# An answer takes about a second. A triggerer that ends gives none, and is killed after 10 s.
_PATIENCE_S = 5.0


async def was_ended(ti: Any) -> bool:
    """A trigger is cancelled alike when its task was marked and when the triggerer itself ends.

    Only the task's state tells which.
    """
    try:
        states = await asyncio.wait_for(_states(ti), _PATIENCE_S)
    except Exception as error:
        log.info("leaving the job alone: Airflow does not say whether its task ended: %r", error)
        return False
    return bool(states.get(ti.task_id, _WAITING) != _WAITING)


async def _states(ti: Any) -> dict[str, str | None]:
    # Airflow's process for triggers knows it, a task's or a web server's has no need to.
    from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

    states = await sync_to_async(RuntimeTaskInstance.get_task_states)(
        dag_id=ti.dag_id, task_ids=[ti.task_id], run_ids=[ti.run_id]
    )
    found: dict[str, str | None] = states.get(ti.run_id, {})
    return found
