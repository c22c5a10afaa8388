"""Finds the runner that a pipeline names: `runner: local` is the entry point `local`."""

from __future__ import annotations

from millrace.core.errors import MillraceError
from millrace.core.job import Runner
from millrace.core.layout import Layout
from millrace.core.references import describe_unknown_runner
from millrace.specs.runners import installed_runners


def load_runner(name: str, layout: Layout) -> Runner:
    known = installed_runners()
    if name not in known:
        raise MillraceError(describe_unknown_runner(name, known))
    runner: Runner = known[name].load()(layout)
    return runner
