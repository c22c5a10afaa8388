"""The runner that a pipeline names."""

from __future__ import annotations

from millrace.base.errors import MillraceError
from millrace.jobs.core.spec import Runner
from millrace.pipelines.core.runner_fitness import describe_unknown_runner
from millrace.pipelines.io.installed_runners import installed_runners
from millrace.platform.core.platform import Platform


def load_runner(name: str, layout: Platform) -> Runner:
    known = installed_runners()
    if name not in known:
        raise MillraceError(describe_unknown_runner(name, known))
    runner: Runner = known[name].load()(layout)
    return runner
