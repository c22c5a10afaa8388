"""A person is asked before something is done."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

# Airflow 3.3 fails a task that is answered before its scheduler saw it waiting; asked again, it is.
ASKED_AGAIN: dict[str, Any] = {"retries": 2, "retry_delay": timedelta(seconds=1)}


def as_list(text: str) -> str:
    """Airflow's page joins the lines of a code block, and keeps those of a list."""
    return "".join(f"- `{line.strip()}`\n" for line in text.splitlines() if line.strip())
