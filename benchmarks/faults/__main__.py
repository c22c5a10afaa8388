"""Faults of edge and lake, the newest of each on a page: python -m benchmarks.faults [NAME...]."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pydantic import TypeAdapter
from rich.console import Console

from benchmarks.faults import anew, clocks, copies, disks, hostile, identities, lake, relays, sites
from benchmarks.faults.stands import kills, links, toxins
from benchmarks.faults.stands.fault import FAULTS as ALL
from benchmarks.faults.stands.fault import Fault, Outcome
from benchmarks.faults.stands.machine import separate
from benchmarks.faults.stands.page import render_page, render_table
from benchmarks.faults.stands.stand import Arena
from millrace.platform.core.platform import Platform

CHECKOUT = Path(__file__).parents[2]
PAGE = CHECKOUT / "docs" / "faults.md"
KEPT = CHECKOUT / "var" / "faults.json"
GROUPS = (
    kills,
    disks,
    copies,
    links,
    toxins,
    identities,
    clocks,
    hostile,
    relays,
    sites,
    anew,
    lake,
)
# As on the page.
FAULTS = [one for group in GROUPS for one in ALL if one.group == group.__name__]


def main(arguments: Sequence[str]) -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started ends with us
    wanted = _wanted(arguments)
    console = Console()
    obstacle = separate()
    if obstacle:
        console.print(f"what needs a network and disks of its own is not possible: {obstacle}")
    outcomes = []
    with _home() as home, ExitStack() as stack:
        arena = Arena(Platform(home), stack)
        for one in wanted:
            console.print(f"{one.name}: {one.how} ...")
            outcomes.append(arena.measure(one))
            console.print(outcomes[-1])
            _keep(outcomes[-1])
    console.print(render_table(outcomes))
    return 0 if all(one.holds for one in outcomes) else 1


def _keep(outcome: Outcome) -> None:
    """The newest of each fault, so that one may be made anew without the others."""
    lists = TypeAdapter(list[Outcome])
    earlier = lists.validate_json(KEPT.read_bytes()) if KEPT.exists() else []
    newest = {one.name: one for one in (*earlier, outcome)}
    known = [newest[one.name] for one in FAULTS if one.name in newest]
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.write_bytes(lists.dump_json(known))
    if len(known) == len(FAULTS):
        PAGE.write_text(render_page(known))


def _wanted(arguments: Sequence[str]) -> list[Fault]:
    names = [one.name for one in FAULTS]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__)
    parser.add_argument("name", nargs="*", metavar="NAME", help=f"of {', '.join(names)}")
    asked = parser.parse_args(arguments).name or names
    if unknown := set(asked) - set(names):
        parser.error(f"no fault {sorted(unknown)[0]!r}; there are {', '.join(names)}")
    return [one for one in FAULTS if one.name in asked]


@contextmanager
def _home() -> Iterator[Path]:
    """The checkout's read-only parts, and a `var` that goes with all that was made."""
    with tempfile.TemporaryDirectory(prefix="millrace-faults-", ignore_cleanup_errors=True) as text:
        home = Path(text)
        for part in (".jars", ".venv", "schemas", "infra"):
            (home / part).symlink_to(CHECKOUT / part)
        yield home


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
