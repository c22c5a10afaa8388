"""How long the platform remembers what it did: runs of DAGs, and their logs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator

from millrace.base.duration import Duration

# A shift of supervision lasts 12 hours; what waits longer is begun anew, and harms no job.
SHORTEST = timedelta(days=2)
HISTORY = timedelta(days=90)
# What grows with each run. `dag` and `dag_version` grow with edits of files alone, and a version
# that a younger run refers to cannot go. The triggerer itself removes triggers that nobody needs.
TABLES = (
    "asset_event",
    "callback",
    "callback_request",
    "dag_run",
    "deadline",
    "import_error",
    "job",
    "log",
    "revoked_token",
    "task_instance",
    "task_instance_history",
    "task_reschedule",
    "xcom",
)
_CHECKING = re.compile(r"Checking table (\w+)")
_FOUND = re.compile(r"Found (\d+) rows meeting deletion criteria")


def _refuse_short(span: timedelta) -> timedelta:
    if span < SHORTEST:
        raise ValueError("below 2 days it takes runs that still wait; write '2 days' or more")
    return span


History = Annotated[Duration, AfterValidator(_refuse_short)]


def cleaned(lines: Iterable[str]) -> dict[str, int]:
    """The rows of each table, from what `airflow db clean` prints; without tables of none."""
    rows: dict[str, int] = {}
    table = ""
    for line in lines:
        if match := _CHECKING.search(line):
            table = match[1]
        elif match := _FOUND.search(line):
            rows[table] = rows.get(table, 0) + int(match[1])
    return {name: count for name, count in rows.items() if count}
