"""Which runners there are: whoever installs a package may bring one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points

_GROUP = "millrace.runners"


@cache
def installed_runners() -> Mapping[str, EntryPoint]:
    """`runner: local` in a pipeline's file is the entry point `local`.

    Looked for once: it takes milliseconds, and supervision asks at every look.
    """
    return {point.name: point for point in entry_points(group=_GROUP)}
