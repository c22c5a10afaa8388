"""What the Airflow that runs us can: 3.0, which managed offerings have, to 3.3.

What differs is decided here, and nowhere else is a version looked at.
"""

from __future__ import annotations

from airflow import __version__ as _version

_SINCE = tuple(int(part) for part in _version.split(".")[:2])

# Operators that wait for a person's answer; mark_operators.py stands in for them.
HAS_APPROVALS = _SINCE >= (3, 1)
# Pages of a plugin, and routes that know a browser by its cookie.
HAS_PAGES = _SINCE >= (3, 1)
# A trigger is told that a person ended its task (`on_kill`); elsewhere ended.py asks.
TELLS_TRIGGERS = _SINCE >= (3, 3)
# Triggers that share one stream of messages, by which the DAG `incident` hears of events.
SHARES_STREAMS = _SINCE >= (3, 3)

if _SINCE >= (3, 2):
    from airflow.sdk import AssetOrTimeSchedule, CronTriggerTimetable
    from airflow.sdk.exceptions import (
        AirflowException,
        AirflowFailException,
        AirflowSkipException,
        ParamValidationError,
        TaskDeferred,
    )
else:
    from airflow.exceptions import (  # type: ignore[no-redef]
        AirflowException,
        AirflowFailException,
        AirflowSkipException,
        ParamValidationError,
        TaskDeferred,
    )
    from airflow.timetables.assets import AssetOrTimeSchedule  # type: ignore[assignment]
    from airflow.timetables.trigger import CronTriggerTimetable  # type: ignore[assignment]

__all__ = [
    "HAS_APPROVALS",
    "HAS_PAGES",
    "SHARES_STREAMS",
    "TELLS_TRIGGERS",
    "AirflowException",
    "AirflowFailException",
    "AirflowSkipException",
    "AssetOrTimeSchedule",
    "CronTriggerTimetable",
    "ParamValidationError",
    "TaskDeferred",
]
