"""Finds the runner that a pipeline names: `runner: local` is the entry point `local`."""

from __future__ import annotations

from importlib.metadata import entry_points

from millrace.core.errors import MillraceError
from millrace.core.job import Runner
from millrace.core.layout import Layout

_GROUP = "millrace.runners"


def load_runner(name: str, layout: Layout) -> Runner:
    known = {point.name: point for point in entry_points(group=_GROUP)}
    if name not in known:
        raise MillraceError(
            f"runner: {name!r} is not installed; write one of: {', '.join(sorted(known))}"
        )
    runner: Runner = known[name].load()(layout)
    return runner
