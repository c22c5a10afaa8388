"""`millrace up`, `down`, `status`, `reset`: the whole stack on this machine."""

from __future__ import annotations

import os
from typing import Annotated

import typer
from rich.console import Console

from millrace.cli.output import Json, print_json, print_line
from millrace.cli.status_table import show
from millrace.local.airflow_config import USER
from millrace.local.down import down as take_down
from millrace.local.down import reset as delete_all
from millrace.local.plan import StackPlan
from millrace.local.progress import Progress
from millrace.local.status import look
from millrace.local.up import up as bring_up
from millrace.settings import Settings


def up() -> None:
    """Start everything and wait until data flows."""
    plan = StackPlan.load(Settings.from_env(os.environ))
    bring_up(plan, Progress(Console()))
    print_line(_welcome(plan))


def down() -> None:
    """Stop everything; no process is left, all data stays."""
    layout = Settings.from_env(os.environ).layout
    stopped = take_down(layout, Progress(Console()))
    print_line("the stack is down" if stopped else "nothing was running")


def status(*, as_json: Json = False) -> None:
    """Show what runs, how it does, and what it uses."""
    seen = look(StackPlan.load(Settings.from_env(os.environ)))
    if as_json:
        totals = {"memory_mb": round(seen.memory_mb, 1), "cpu_percent": round(seen.cpu_percent, 1)}
        print_json({**seen.model_dump(mode="json"), "totals": totals})
    else:
        show(seen, Console())


def reset(
    *, yes: Annotated[bool, typer.Option("--yes", help="Don't ask; delete at once.")] = False
) -> None:
    """Stop everything and delete var/: tables, topics, users, passwords, Airflow's history."""
    layout = Settings.from_env(os.environ).layout
    question = f"Delete {layout.var} with all tables, topics, passwords and Airflow's history?"
    if not yes and not typer.confirm(question):
        print_line("nothing was deleted")
        raise typer.Exit(1)
    delete_all(layout, Progress(Console()))
    print_line(f"{layout.var} is deleted")


def _welcome(plan: StackPlan) -> str:
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
