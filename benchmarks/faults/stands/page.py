"""The matrix, for a terminal and for the page."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime

from rich.table import Table

from benchmarks.faults.stands.fault import Outcome
from benchmarks.faults.stands.load import DEVICES, KEYS_EACH, RATE_PER_S

_HEAD = """# Faults

Written by `make faults` ({machine}, {cores} cores, {day}). Each fault is made on real parts: a
broker with TLS and passwords, a gateway, {devices} devices that send {rate:,} messages a second of
{keys} keys before, during and after it, and a reader at the broker. All of them run in a network
and with mounts of their own. Afterwards every message is counted, by who read all the time and by
who comes later and reads all of it; the worse of both is in the table. `messages` are all that the
devices made, `disordered` those that came behind a later one of their key.

`recovery` is from the moment at which the cause is gone (a killed process: it is started again)
until the newest message of each key is at most a second old, and stays so; what waited meanwhile is
delivered by then. `silence` is the longest time without any message at the reader. `the operator
sees` is what the gateway's page said meanwhile. A line is its fault's newest: lines may be of
several runs. Links, disks and power need root, ext4 and nftables; some links toxiproxy too.

Where a job reads the site, what silver has is counted, and bronze is looked through for coordinates
that are there twice. Such a line holds only if the operator heard of each thing once, and `verify`
names all that is gone and nothing else; what was in a topic that is gone is known by the broker's
own files. Where the job's own machine loses its power, `recovery` is from the job's start until
less than a second of the load waits.

"""
_PAGE_COLUMNS = (
    "fault", "how it is made", "messages", "lost", "doubled", "disordered", "recovery s",
    "silence s", "the operator sees",
)  # fmt: skip
_COLUMNS = (
    "fault", "messages", "lost", "doubled", "disordered", "recovery s", "silence s",
    "the operator sees",
)  # fmt: skip


def render_page(outcomes: Sequence[Outcome]) -> str:
    head = _HEAD.format(
        machine=f"{platform.system()} {platform.machine()}",
        cores=len(os.sched_getaffinity(0)),
        day=datetime.now(UTC).date(),
        devices=DEVICES,
        rate=RATE_PER_S,
        keys=DEVICES * KEYS_EACH,
    )
    rule = ["---:" if 1 < number < 8 else "---" for number in range(len(_PAGE_COLUMNS))]
    lines = [list(_PAGE_COLUMNS), rule, *map(_line, outcomes)]
    return head + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _line(one: Outcome) -> list[str]:
    name, *figures, seen = _cells(one)
    return [name, one.how, *figures, seen.replace("|", "/")]


def render_table(outcomes: Sequence[Outcome]) -> Table:
    table = Table(title="faults")
    for number, column in enumerate(_COLUMNS):
        is_figure = 0 < number < len(_COLUMNS) - 1
        table.add_column(column, justify="right" if is_figure else "left", overflow="fold")
    for one in outcomes:
        table.add_row(*_cells(one), style="" if one.holds else "red")
    return table


def _cells(one: Outcome) -> list[str]:
    if one.count is None:
        word = "not possible here" if one.is_impossible else "failed"
        return [one.name, *[""] * 6, f"{word}: {one.problem}"]
    seen = "; ".join(one.seen) or "nothing"
    if one.problem:
        seen = f"failed: {one.problem}; {seen}"
    taken = f" (and {one.destroyed} destroyed)" if one.destroyed else ""
    count = one.count
    silence = "" if one.silence_s is None else f"{one.silence_s:.1f}"
    return [
        one.name, f"{one.sent:,}", f"{count.lost}{taken}", str(count.doubled),
        str(count.disordered), f"{one.recovery_s:.1f}", silence, seen,
    ]  # fmt: skip
