"""Keeps a pipeline that fails at once from failing without a pause.

A `@continuous` DAG begins its next run the moment the last one ended, however it ended.
"""

from __future__ import annotations

from datetime import datetime, timedelta

_SHORT_RUN = timedelta(seconds=20)
_PAUSE = timedelta(seconds=30)


def begins_at(state: str, started: datetime, ended: datetime | None) -> datetime | None:
    """When the run after this one may begin; None for at once."""
    if state != "failed" or ended is None or ended - started > _SHORT_RUN:
        return None
    return ended + _PAUSE
