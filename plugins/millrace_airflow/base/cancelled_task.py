"""How a task whose trigger was cancelled stands: Airflow cancels alike for several reasons."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, TypeVar

from asgiref.sync import sync_to_async

log = logging.getLogger(__name__)
Found = TypeVar("Found")

# What a task pushes before it waits: a clear leaves it there, and a clean takes it along.
SIGN = "waits"

_WAITING, _MARKED = "deferred", ("success", "failed", "skipped")
# An answer takes about a second. A triggerer that ends gives none, and is killed after 10 s.
_PATIENCE_S = 5.0


async def was_ended(ti: Any) -> bool:
    """Before 3.3 a trigger is cancelled alike when a person marked its task and when the triggerer
    itself ends. Only the task's state tells which.
    """
    states = await _answer(_states, ti)
    return states is not None and states.get(ti.task_id, _WAITING) != _WAITING


async def was_taken_away(ti: Any) -> bool:
    """`airflow db clean` takes the row of a task that waits for long; the scheduler makes another
    one at once, to be run. To be told from one that a person cleared.
    """
    states = await _answer(_states, ti)
    if states is None or states.get(ti.task_id) in _MARKED:
        return False
    return ti.task_id not in states or await _answer(_has_sign, ti) is False


async def _answer(ask: Callable[[Any], Found], ti: Any) -> Found | None:
    try:
        return await asyncio.wait_for(sync_to_async(ask)(ti), _PATIENCE_S)
    except Exception as error:
        log.info("Airflow does not say how the task stands: %r", error)
        return None


# Airflow's process for triggers knows what these import; a task's or a web server's needs it not.
def _states(ti: Any) -> dict[str, str | None]:
    from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

    states = RuntimeTaskInstance.get_task_states(
        dag_id=ti.dag_id, task_ids=[ti.task_id], run_ids=[ti.run_id]
    )
    found: dict[str, str | None] = states.get(ti.run_id, {})
    return found


def _has_sign(ti: Any) -> bool:
    from airflow.sdk.execution_time.xcom import XCom

    sign = XCom.get_one(
        key=SIGN, dag_id=ti.dag_id, task_id=ti.task_id, run_id=ti.run_id, map_index=-1
    )
    return sign is not None
