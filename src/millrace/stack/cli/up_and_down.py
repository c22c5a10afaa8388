"""`millrace up`, `down`, `status`, `reset`: the whole stack on this machine.

Engines are imported by the command that needs them: `millrace check` needs none.
"""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from millrace.base.output import Json, print_json, print_line
from millrace.platform.io.environment import Settings, platform_here

if TYPE_CHECKING:
    from millrace.stack.io.progress import Progress
    from millrace.stack.io.stack_plan import StackPlan


class RunnerChoice(StrEnum):
    LOCAL = "local"
    STANDALONE = "standalone"


class StoreChoice(StrEnum):
    FOLDER = "folder"
    S3 = "s3"


def up(
    *,
    store: Annotated[
        StoreChoice | None,
        typer.Option(
            help="Where tables and checkpoints go: below var/, or into a bucket (of an object"
            " store on this machine, unless infra/local.yaml names another). It is remembered;"
            " what is in the other place stays there."
        ),
    ] = None,
    runner: Annotated[
        RunnerChoice | None,
        typer.Option(
            help="Where jobs do their work: in their own process, or on a Spark cluster of a"
            " master and two workers on this machine. It is remembered."
        ),
    ] = None,
    centre: Annotated[
        bool | None,
        typer.Option(
            "--centre/--no-centre",
            help="Whether the clusters of dags/clusters and the relays to them run too. It is"
            " remembered.",
        ),
    ] = None,
    registry: Annotated[
        bool | None,
        typer.Option(
            "--registry/--no-registry",
            help="Run a schema registry beside the brokers, and keep it at what schemas/ says."
            " It is remembered; 'make up REGISTRY=1' installs it.",
        ),
    ] = None,
) -> None:
    """Start everything and wait until data flows."""
    from millrace.stack.io.stack_plan import StackPlan
    from millrace.stack.io.up import up as bring_up

    settings = Settings.from_env(os.environ)
    if store:
        settings = settings.choose_store(store.value)
    if runner:
        settings = settings.choose_runner(runner.value)
    if centre is not None:
        settings.choose_centre(on=centre)
    if registry is not None:
        settings = settings.choose_registry(wanted=registry)
    plan = StackPlan.load(settings)
    bring_up(plan, _progress())
    print_line(_welcome(plan))


def down() -> None:
    """Stop everything; no process is left, all data stays."""
    from millrace.stack.io.down import down as take_down

    stopped = take_down(platform_here(), _progress())
    print_line("the stack is down" if stopped else "nothing was running")


def status(
    *,
    as_json: Json = False,
    over: Annotated[
        float, typer.Option(min=0.1, help="Seconds over which processor use is measured.")
    ] = 0.5,
) -> None:
    """Show what runs, how it does, and what it uses."""
    from rich.console import Console

    from millrace.fleet.text import show
    from millrace.stack.io.stack_plan import StackPlan
    from millrace.stack.io.stack_status import look

    seen = look(StackPlan.load(Settings.from_env(os.environ)), over)
    if as_json:
        totals = {"memory_mb": round(seen.memory_mb, 1), "cpu_percent": round(seen.cpu_percent, 1)}
        print_json({**seen.model_dump(mode="json"), "totals": totals})
    else:
        show(seen, Console())


def reset(
    *, yes: Annotated[bool, typer.Option("--yes", help="Don't ask; delete at once.")] = False
) -> None:
    """Stop everything and delete var/: tables, topics, users, passwords, Airflow's history."""
    from millrace.stack.io.down import reset as delete_all

    layout = platform_here()
    question = f"Delete {layout.var} with all tables, topics, passwords and Airflow's history?"
    if not yes and not typer.confirm(question):
        print_line("nothing was deleted")
        raise typer.Exit(1)
    delete_all(layout, _progress())
    print_line(f"{layout.var} is deleted")


def _progress() -> Progress:
    from rich.console import Console

    from millrace.stack.io.progress import Progress

    return Progress(Console())


def _welcome(plan: StackPlan) -> str:
    from millrace.stack.core.airflow_config import USER

    layout = plan.layout
    site = plan.local_sites[0].name if plan.local_sites else "SITE"
    topic = plan.pipelines[0].topics[0] if plan.pipelines else "TOPIC"
    table = plan.pipelines[0].table if plan.pipelines else "TABLE"
    tries = (
        ("status", "what runs, how fast, how far behind"),
        (f"tail {topic}@{site}", "a site's messages as they come"),
        (f"tail {table}", "the table's rows as they come"),
    )
    return "\n".join(
        (
            "",
            "Millrace is up.",
            "",
            f"  Airflow   {plan.airflow_url}",
            f"            user {USER}, password in {layout.airflow_password}",
            f"            its certificate is signed by {layout.ca}",
            f"  Tables    {layout.lake}",
            "",
            "Try next:",
            *(f"  .venv/bin/millrace {words:<32} {why}" for words, why in tries),
            "  or edit dags/pipelines/*.yaml and watch Airflow deploy the change",
        )
    )
