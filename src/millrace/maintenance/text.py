"""Maintenance as tables for people."""

from __future__ import annotations

from collections.abc import Iterable

from millrace.maintenance.core.maintenance_plan import (
    Action,
    CheckpointAction,
    Compact,
    Days,
    Expire,
    TablePlan,
    Vacuum,
)
from millrace.maintenance.core.maintenance_settings import MB
from millrace.maintenance.core.maintenance_task import DoneAction, MaintainResult

Row = tuple[str, ...]


def plan_lines(plans: Iterable[TablePlan]) -> list[str]:
    rows: list[Row] = [("LAYER", "ACTION", "WHAT", "FILES", "MB", "WHY")]
    for plan in plans:
        rows += [(plan.layer, *_planned(action), action.why) for action in plan.actions]
        if plan.held:
            rows.append((plan.layer, "held back", *_days(plan.held), plan.held.why))
        elif not plan.actions:
            rows.append(_nothing(plan))
    return _aligned(rows)


def result_lines(result: MaintainResult) -> list[str]:
    if not result.done:
        return ["nothing to do"]
    head = ("LAYER", "ACTION", "WHAT", "FILES", "MB", "SECONDS", "LEFT")
    return _aligned([head, *map(_done, result.done)])


def held_lines(plans: Iterable[TablePlan], pipeline: str) -> list[str]:
    held = [f"{plan.layer}: {plan.held.span}" for plan in plans if plan.held]
    if not held:
        return []
    way = f"look at the clocks and `keep`; 'millrace maintain {pipeline} --yes' drops them"
    return [f"held back: {', '.join(held)}", way]


def _nothing(plan: TablePlan) -> Row:
    weight = f"{plan.files}", _mb(plan.size_bytes)
    return (plan.layer, "-", "nothing to do", *weight, "it is well as it is")


def _planned(action: Action) -> Row:
    """Action, what, files, MB."""
    match action:
        case Compact():
            files = f"{action.files} -> {len(action.bins)}"
            return action.kind, f"day {action.day}", files, _mb(action.size_bytes)
        case Expire():
            return action.kind, *_days(action)
        case Vacuum():
            return action.kind, "unneeded files", f"{action.files} -> 0", "-"
        case CheckpointAction():
            return action.kind, f"{action.commits} commits", "-", "-"


def _days(days: Days) -> tuple[str, str, str]:
    return days.span, f"{days.files} -> 0", _mb(days.size_bytes)


def _done(done: DoneAction) -> Row:
    gain = done.gain
    kind, what, _, _ = _planned(done.action)
    files = f"{gain.files_before} -> {gain.files_after}"
    size = f"{_mb(gain.bytes_before)} -> {_mb(gain.bytes_after)}"
    return done.layer, kind, what, files, size, f"{done.seconds:.1f}", gain.left


def _mb(size_bytes: int) -> str:
    return f"{size_bytes / MB:.1f}"


def _aligned(rows: list[Row]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
