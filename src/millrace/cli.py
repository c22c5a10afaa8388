"""The one command line. A user's mistake is one message and exit code 2, never a traceback."""

from __future__ import annotations

import sys

import typer

from millrace.base.errors import MillraceError
from millrace.cloud.cli.check import check
from millrace.cloud.cli.cost_command import cost
from millrace.cloud.cli.release_command import release
from millrace.devices import cli as register
from millrace.gateway import cli as gateway
from millrace.gateway.commands.cli import command
from millrace.gateway.simulator.cli import simulate
from millrace.incidents.cli import incident
from millrace.kafka.cli.client import client
from millrace.kafka.cli.tail import tail
from millrace.latency_benchmark.cli import race
from millrace.maintenance.cli import maintain
from millrace.quality.cli import quality
from millrace.relay.cli import relay
from millrace.repair.cli.backfill_command import backfill
from millrace.repair.cli.replay_command import replay
from millrace.repair.cli.verify_command import verify
from millrace.schemas.cli import schema_command
from millrace.secrets import cli as authority
from millrace.site_changes.cli import site_command
from millrace.stack.cli import cluster_command, container, up_and_down

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Streams data from many industrial sites into one lake, on this machine.",
)
for one in (
    up_and_down.up,
    up_and_down.down,
    up_and_down.status,
    up_and_down.reset,
    check,
    client,
    command,
    cost,
    tail,
    simulate,
    replay,
    backfill,
    verify,
    maintain,
    quality,
    incident,
    race,
    relay,
    release,
):
    app.command()(one)
app.add_typer(gateway.app, name="gateway")
app.add_typer(register.app, name="register")
app.add_typer(schema_command.app, name="schema")
app.add_typer(site_command.app, name="site")
app.add_typer(authority.app, name="authority")
app.add_typer(cluster_command.app, name="cluster")
app.add_typer(container.app, name="container", hidden=True)


def run() -> None:
    try:
        app()
    except MillraceError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
