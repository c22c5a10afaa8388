"""The stack in containers, a program in each.

One that ends prepares all files, keys and passwords among them; another tells brokers, store,
database and registry what they need, as soon as these answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from millrace.base.errors import MillraceError
from millrace.platform.core.platform import Platform
from millrace.processes.core.program import Program
from millrace.processes.core.supervisor_config import render_config
from millrace.processes.io.stack_identity import ensure_stack_marks
from millrace.schemas.io.local_registry import fill
from millrace.schemas.io.local_registry import is_open as registry_is_open
from millrace.settings.core.paths import HOME_VARIABLE
from millrace.stack.io.airflow import airflow_server, postgres
from millrace.stack.io.brokers.opening import has_relays, has_users
from millrace.stack.io.checks import open_var
from millrace.stack.io.containers.container_scripts import JOBS, render_health, render_script
from millrace.stack.io.object_store import check_bucket
from millrace.stack.io.object_store import is_open as store_is_open
from millrace.stack.io.prepare import Task, prepare
from millrace.stack.io.stack_plan import StackPlan
from millrace.storage.io.files import make_private, write_atomic

_WITHIN_S, _POLL_S = 180.0, 0.5
Say = Callable[[str], None]
Holds = Callable[[], bool]


def prepare_containers(plan: StackPlan) -> list[Program]:
    """Done again, beside a stack that runs, it changes nothing but what the files say anew."""
    layout = plan.layout
    if not layout.apart:
        raise MillraceError(
            f"{layout.local_settings} does not say 'apart: true', so its programs would look for"
            " each other on one machine; 'millrace up' runs those"
        )
    open_var(layout)
    marks = ensure_stack_marks(layout)
    programs = [*prepare(plan, {}, _one_by_one).programs, _jobs(layout)]
    make_private(layout.programs)
    for program in programs:
        environment = {**marks, HOME_VARIABLE: str(layout.home)}
        _write(layout, f"{program.name}.sh", render_script(program, environment))
        _write(layout, f"{program.name}.health", render_health(program, layout, plan.airflow_port))
    return programs


def open_containers(plan: StackPlan, say: Say) -> None:
    layout = plan.layout
    if layout.bucket:
        bucket = layout.bucket
        _await("the object store", partial(store_is_open, bucket))
        check_bucket(bucket)
        say(f"tables and checkpoints go to {bucket.uri}")
    for site in plan.local_sites:
        _await(f"the broker of {site.name}", partial(has_users, plan, site))
        say(f"{site.name} has its users")
    for cluster in plan.local_clusters:
        _await(f"cluster {cluster.name}", partial(has_relays, plan, cluster))
        say(f"{cluster.name} and its sites have what relays need")
    if layout.registry:
        registry = layout.registry
        _await("the schema registry", partial(registry_is_open, layout, registry))
        fill(layout, registry)
        say("the registry has the schemas of the files")
    postgres.ensure_database(layout)
    airflow_server.migrate(layout, {})
    say("Airflow's tables are of its version")


def _jobs(layout: Platform) -> Program:
    """Of Spark jobs: the process manager that the runner `local` talks to."""
    write_atomic(layout.supervisor_config, render_config([], layout))
    supervisord = str(layout.control_bin / "supervisord")
    return Program(
        name=JOBS,
        command=(supervisord, "--nodaemon", "-c", str(layout.supervisor_config)),
        directory=layout.home,
        log=layout.logs / "supervisord.log",
        priority=40,
    )


def _write(layout: Platform, name: str, text: str) -> None:
    write_atomic(layout.programs / name, text)


def _one_by_one(tasks: Sequence[Task]) -> list[list[Program]]:
    return [task() for task in tasks]


def _await(what: str, holds: Holds) -> None:
    deadline = time.monotonic() + _WITHIN_S
    while not holds():
        if time.monotonic() > deadline:
            raise MillraceError(f"{what} does not answer after {_WITHIN_S:.0f} s; see its log")
        time.sleep(_POLL_S)
