"""The one command line. A user's mistake is one message and exit code 2, never a traceback."""

from __future__ import annotations

import sys

import typer

from millrace.cli import site, stack
from millrace.cli.backfill import backfill
from millrace.cli.check import check
from millrace.cli.client import client
from millrace.cli.incident import incident
from millrace.cli.maintain import maintain
from millrace.cli.quality import quality
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
for command in (
    stack.up,
    stack.down,
    stack.status,
    stack.reset,
    check,
    client,
    tail,
    simulate,
    replay,
    backfill,
    verify,
    maintain,
    quality,
    incident,
    release,
):
    app.command()(command)
app.add_typer(site.app, name="site")


def run() -> None:
    try:
        app()
    except MillraceError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
