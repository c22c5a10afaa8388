"""The event of days that a run holds back until a person agrees."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from millrace.incidents.core.event import Event, EventKind, make_event
from millrace.maintenance.core.maintenance_plan import TablePlan


def event_of_held_days(
    pipeline: str, plans: Iterable[TablePlan], at: datetime
) -> tuple[Event, ...]:
    """One for all tables of a pipeline: one person answers for them, with one form."""
    held = [f"{plan.layer} ({plan.held.span})" for plan in plans if plan.held and plan.is_news]
    if not held:
        return ()
    text = (
        f"by this clock ({at:%Y-%m-%d %H:%M} UTC) and `keep` more days are old at once than a run"
        f" drops without a question; they stay until somebody says yes: {', '.join(held)}"
    )
    return (make_event(EventKind.DAYS_HELD, pipeline, at, text),)
