"""Which kinds of jobs there are: whoever installs a package may bring one, as with runners."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from millrace.base.errors import MillraceError
from millrace.jobs.core.kind import Kind

GROUP = "millrace.kinds"


@cache
def installed_kinds() -> Mapping[str, EntryPoint]:
    """Looked for once: it takes milliseconds, and supervision asks at every look."""
    return {point.name: point for point in entry_points(group=GROUP)}


def find_kind(name: str) -> Kind[Any] | None:
    point = installed_kinds().get(name)
    return point.load()() if point else None


def load_kind(name: str) -> Kind[Any]:
    kind = find_kind(name)
    if kind is None:
        raise MillraceError(
            f"there is no kind of job {name!r} here, there are:"
            f" {', '.join(sorted(installed_kinds()))}; is the package that brings it installed"
            f" (entry point group {GROUP})?"
        )
    return kind
