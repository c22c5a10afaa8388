"""`millrace gateway`: what runs beside the machines of a site."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from millrace.base.output import print_line
from millrace.gateway.spec.core.gateway_file import GatewaySpec
from millrace.specs.spec_files import load_file

if TYPE_CHECKING:
    from millrace.gateway.service.io.gateway import Gateway

app = typer.Typer(
    no_args_is_help=True,
    help="Take what machines send, answer when it is on disk, deliver it to the site's broker.",
)
File = Annotated[Path, typer.Argument(help="The gateway's file, gateway.yaml.")]


@app.command()
def run(file: File) -> None:
    """Run a gateway until SIGTERM or Ctrl-C; what it has taken waits on disk for the broker."""
    from millrace.gateway.spec.io.gateway_settings import with_places

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    spec = with_places(load_file(file, GatewaySpec), file.resolve().parent)
    try:
        import uvloop

        uvloop.run(_run(spec))
    except KeyboardInterrupt:
        return


@app.command()
def check(file: File) -> None:
    """Read a gateway's file and say what is wrong with it, or what it takes and where it goes."""
    from millrace.gateway.rules.io.site_webhook import address_of
    from millrace.gateway.spec.io.gateway_settings import read_client, with_places

    spec = load_file(file, GatewaySpec)
    placed = with_places(spec, file.resolve().parent)
    if placed.broker.settings.exists():
        read_client(placed)
    for rule in (rule for one in placed.inputs for rule in one.rules):
        address_of(rule)
    for one in spec.inputs:
        how = "TLS" if one.tls else "plain text"
        topics = ", ".join(one.topics)
        print_line(f"{one.name}: {one.kind} at {one.where} ({how}) -> {topics}")
    for risk in spec.risks:
        print_line(f"without TLS: {risk}")


@app.command()
def waiting(file: File) -> None:
    """Say how many messages a gateway has left to deliver; exit 1 if any. It changes nothing."""
    from millrace.gateway.service.io.backlog import count_waiting
    from millrace.gateway.spec.io.gateway_settings import with_places

    counts = count_waiting(with_places(load_file(file, GatewaySpec), file.resolve().parent))
    for name, count in counts.items():
        print_line(f"{name}: {count:,} messages wait")
    raise typer.Exit(1 if any(counts.values()) else 0)


@app.command()
def resend(file: File) -> None:
    """Have all dead letters sent again: by the gateway that runs, within a second or two, or else
    when it starts. Those that are refused again are dead letters again."""
    from millrace.gateway.service.io.resend import ask_for
    from millrace.gateway.spec.io.gateway_settings import with_places

    spec = with_places(load_file(file, GatewaySpec), file.resolve().parent)
    for one in spec.inputs:
        print_line(f"{one.name}: {ask_for(spec.data / one.name):,} dead letters are sent again")


async def _run(spec: GatewaySpec) -> None:
    from millrace.gateway.service.io.gateway import Gateway

    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    gateway: Gateway = Gateway(spec)
    await gateway.start()
    keep_what_is_loaded()
    print_line(f"gateway of {spec.site} is ready")
    try:
        await gateway.run(stop)
    finally:
        await gateway.end()


def keep_what_is_loaded() -> None:
    """Each full search for garbage would pass over all of it, some 90,000 objects, and hold up
    every answer meanwhile: twice a second under load, for 15 to 40 ms."""
    gc.collect()
    gc.freeze()
