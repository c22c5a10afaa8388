"""`millrace container`: the doors of docker-compose.yml. People have no use for them."""

from __future__ import annotations

import os

import typer

from millrace.base.output import print_line
from millrace.platform.io.environment import Settings

app = typer.Typer(
    no_args_is_help=True,
    help="What containers of docker-compose.yml run; for people there is 'docker compose up'.",
)


@app.command()
def prepare() -> None:
    """Write keys, passwords, settings and programs of all containers; what is there stays."""
    from millrace.stack.io.containers.container_stack import prepare_containers
    from millrace.stack.io.stack_plan import StackPlan

    programs = prepare_containers(StackPlan.load(Settings.from_env(os.environ)))
    print_line("prepared: " + ", ".join(sorted(program.name for program in programs)))


@app.command(name="open")
def open_() -> None:
    """Tell brokers, store, database and registry what they need, as soon as they answer."""
    from millrace.stack.io.containers.container_stack import open_containers
    from millrace.stack.io.stack_plan import StackPlan

    open_containers(StackPlan.load(Settings.from_env(os.environ)), print_line)
