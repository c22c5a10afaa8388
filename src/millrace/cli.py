"""The one command line. A user's mistake is one message and exit code 2, never a traceback."""

from __future__ import annotations

import sys

import typer

from millrace.cli import authority, cluster, container, gateway, register, schema, site, stack
from millrace.cli.backfill import backfill
from millrace.cli.check import check
from millrace.cli.client import client
from millrace.cli.command import command
from millrace.cli.cost import cost
from millrace.cli.incident import incident
from millrace.cli.maintain import maintain
from millrace.cli.quality import quality
from millrace.cli.race import race
from millrace.cli.relay import relay
from millrace.cli.release import release
from millrace.cli.replay import replay
from millrace.cli.simulate import simulate
from millrace.cli.tail import tail
from millrace.cli.verify import verify
from millrace.core.errors import MillraceError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Streams data from many industrial sites into one lake, on this machine.",
)
for one in (
    stack.up,
    stack.down,
    stack.status,
    stack.reset,
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
app.add_typer(schema.app, name="schema")
app.add_typer(site.app, name="site")
app.add_typer(authority.app, name="authority")
app.add_typer(cluster.app, name="cluster")
app.add_typer(container.app, name="container", hidden=True)


def run() -> None:
    try:
        app()
    except MillraceError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
