"""`millrace cluster`: more brokers for a cluster, and its partitions shared among them."""

from __future__ import annotations

from typing import Annotated

import typer

from millrace.base.errors import MillraceError
from millrace.base.output import print_line
from millrace.platform.core.platform import Platform
from millrace.platform.io.environment import platform_here
from millrace.relay.core.relay_references import describe_unknown_cluster
from millrace.relay.io.relay_files import load_clusters
from millrace.sites.core.spec import SiteSpec

app = typer.Typer(no_args_is_help=True, help="Clusters that relays bring topics to.")
_Name = Annotated[str, typer.Argument(help="As in dags/clusters/<name>.yaml.")]
_MB = 1_000_000


@app.command()
def add_broker(name: _Name) -> None:
    """Start one more broker on this machine. It has nothing to do before a rebalance.

    Data flow on meanwhile. The cluster's file says afterwards how many there are: commit it.
    """
    from millrace.stack.io.brokers.grow import add_broker as add

    layout = platform_here()
    number = add(layout, find_cluster(layout, name))
    print_line(f"broker {number} of {name} is there; next: millrace cluster rebalance {name}")


@app.command()
def rebalance(
    name: _Name,
    *,
    without: Annotated[
        list[int] | None,
        typer.Option(help="A broker that is to hold nothing any more; may be repeated."),
    ] = None,
    mb_per_s: Annotated[
        float, typer.Option(min=0.1, help="So much at most, so that data flow on beside it.")
    ] = 50,
    within_s: Annotated[float, typer.Option(help="How long to wait for the end of it.")] = 3_600,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would move, and move nothing.")
    ] = False,
) -> None:
    """Share the partitions among the brokers that are there, with as few moves as can be.

    Done again, it moves nothing. Cut short, the moves that were begun go on by themselves.
    """
    from millrace.stack.io.brokers.move_partitions import Rebalance

    layout = platform_here()
    work = Rebalance(find_cluster(layout, name), layout)
    moves = work.plan(without or ())
    for place, replicas in sorted(moves.items()):
        listed = ", ".join(map(str, replicas))
        print_line(f"{place.topic}-{place.partition}: to brokers {listed}")
    if not moves:
        print_line("every broker has its share; nothing to move")
    elif not dry_run:
        work.execute(moves, int(mb_per_s * _MB), print_line, within_s)
        print_line(f"{len(moves)} partitions are where they should be")


def find_cluster(layout: Platform, name: str) -> SiteSpec:
    clusters = {cluster.name: cluster for cluster in load_clusters(layout)}
    if name not in clusters:
        raise MillraceError(describe_unknown_cluster(name, list(clusters)))
    return clusters[name]
