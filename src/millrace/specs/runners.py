"""Which runners there are: whoever installs a package may bring one."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

_GROUP = "millrace.runners"


def installed_runners() -> dict[str, EntryPoint]:
    """`runner: local` in a pipeline's file is the entry point `local`."""
    return {point.name: point for point in entry_points(group=_GROUP)}
