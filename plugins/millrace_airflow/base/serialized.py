"""How a trigger comes again in another process: its class by name, and what it was made with."""

from __future__ import annotations

from typing import Any

from airflow.triggers.base import BaseTrigger


def serialized(trigger: BaseTrigger, *arguments: str) -> tuple[str, dict[str, Any]]:
    """`arguments` of its `__init__`, each kept under its own name."""
    kind = type(trigger)
    values = {name: getattr(trigger, name) for name in arguments}
    return f"{kind.__module__}.{kind.__qualname__}", values
