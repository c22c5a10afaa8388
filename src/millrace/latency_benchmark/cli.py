"""`millrace race`: how fast messages come through, beside what others have published."""

from __future__ import annotations

import socket
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from millrace.base.errors import MillraceError
from millrace.base.output import Json, print_json, show_progress
from millrace.latency_benchmark.core import PUBLISHED, Lap, Race, summary
from millrace.platform.io.environment import platform_here

_PORTS = 4


def race(
    *,
    messages: Annotated[
        int, typer.Option(min=2, help="How many in a run, from both providers.")
    ] = 1_000_000,
    rate: Annotated[
        list[int] | None,
        typer.Option(help="Messages a second that are offered; again for another rate."),
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="Runs at each rate.")] = 5,
    seed: Annotated[int, typer.Option(help="The same seed sends the same messages.")] = 1,
    size: Annotated[int, typer.Option(help="Bytes of a message, at least.")] = 0,
    as_json: Json = False,
) -> None:
    """Race a million messages from two providers to one consumer, by TLS all the way.

    Providers -> gateway (answers when a message is on disk) -> Kafka -> consumer, all of them on
    this machine, in a folder of their own that is deleted in the end. Runs at 20,000 and 40,000
    messages a second, five times each: seven minutes.
    """
    from millrace.latency_benchmark.io.benchmark_run import race_layout, run_race

    plan = Race(messages=messages, rates=tuple(rate or PUBLISHED), runs=runs, seed=seed, size=size)
    laps: list[Lap] = []
    with tempfile.TemporaryDirectory(prefix="millrace-race-") as folder:
        layout = race_layout(platform_here().home, Path(folder))
        for lap in run_race(plan, layout, _free_ports(), show_progress):
            laps.append(lap)
            show_progress(_line(lap, len(laps), len(plan.rates) * plan.runs))
    if as_json:
        print_json({"laps": [lap.model_dump() for lap in laps], "summary": summary(laps)})
    else:
        Console().print(_table(laps))


def _line(lap: Lap, number: int, count: int) -> str:
    faults = f"lost {lap.lost}, doubled {lap.doubled}, out of order {lap.disordered}"
    return (
        f"{number}/{count}: {lap.rate:,}/s: {lap.took_s:.2f} s from first to last received,"
        f" the last {lap.behind_s:.2f} s after it was sent; {faults}"
    )


def _table(laps: list[Lap]) -> Table:
    table = Table(
        "offered/s", "mean", "worst", "last received", "lost", "doubled", "disordered", "Kafka*",
        "Pulsar*", title=f"{laps[0].sent:,} messages, first to last received",
    )  # fmt: skip
    for row in summary(laps):
        published = row["published_s"]
        table.add_row(
            f"{row['rate']:,}",
            f"{row['mean_s']:.2f} s",
            f"{row['worst_s']:.2f} s",
            f"+{row['worst_behind_s']:.2f} s",
            *(f"{row[name]:,}" for name in ("lost", "doubled", "disordered")),
            *(_published(published, name) for name in ("Kafka", "Pulsar")),
        )
    table.caption = (
        "last received: after the last was sent, at worst\n"
        "* published by others for machines of theirs, 1,000,000 messages"
    )
    return table


def _published(figures: object, name: str) -> str:
    found = figures.get(name) if isinstance(figures, dict) else None
    return f"{found:.2f} s" if found else "-"


def _free_ports() -> int:
    """The first of so many in a row, as the system finds them free by now."""
    for first in range(21_000, 32_000, _PORTS):
        if all(_is_free(first + number) for number in range(_PORTS)):
            return first
    raise MillraceError("no four free ports in a row between 21000 and 32000 on 127.0.0.1")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0
