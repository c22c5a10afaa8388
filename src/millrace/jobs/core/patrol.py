"""Finds jobs that nobody watches.

A person who marks a pipeline's task failed while nothing of Airflow is there to hear it leaves a
job behind that runs on, and that nobody would restart or stop.
"""

from __future__ import annotations

from datetime import datetime, timedelta

# How often a watch says that it is there.
SIGN_EVERY = timedelta(seconds=10)
# A watch that changes hands may take longer; its DAG run is there all the while.
_PATIENCE = 3 * SIGN_EVERY


def is_unwatched(watched_at: datetime | None, began: datetime, now: datetime) -> bool:
    """Nobody gave a sign for too long, as a patrol sees it that began then.

    Before it began, watches may have been away for the same reason as the patrol.
    """
    return now - max(began, watched_at or began) > _PATIENCE
