"""Where a record came from, and predicates over it: literals, so that engines can prune by them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from typing import NamedTuple

from millrace.core.lag import Offsets
from millrace.core.ranges import Range


class Part(NamedTuple):
    """One partition of one topic of one site."""

    site: str
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.site}/{self.topic}-{self.partition}"


def in_ranges(ranges: Mapping[Part, Range]) -> str:
    """Rows of these partitions between these offsets."""
    return _any(
        f"({_is_part(part)} AND offset >= {one.first} AND offset <= {one.last})"
        for part, one in sorted(ranges.items())
    )


def from_on(site: str, begin: Offsets) -> str:
    """Rows of these partitions from these offsets on."""
    return _any(
        f"({_is_part(Part(site, *partition))} AND offset >= {first})"
        for partition, first in sorted(begin.items())
    )


def on_days(days: Iterable[date]) -> str:
    listed = ", ".join(f"DATE'{day}'" for day in sorted(days))
    return f"day IN ({listed})" if listed else "false"


def with_days_before(days: Iterable[date]) -> frozenset[date]:
    """And the day before each: what came shortly before midnight is of that."""
    return frozenset(day - timedelta(days=back) for day in days for back in (0, 1))


def since_day(first: date | None) -> str:
    return f"day >= DATE'{first}'" if first else "true"


def between_days(first: date, last: date) -> str:
    return f"day >= DATE'{first}' AND day <= DATE'{last}'"


def below(ends: Mapping[str, Offsets]) -> str:
    """Rows that no stream writes any more: those before each site's committed positions.

    A partition that a site's stream has not committed yet is all the stream's. A site without a
    checkpoint has no stream, so all its rows are meant.
    """
    done = (
        f"({_is_part(Part(site, *partition))} AND offset < {end})"
        for site, offsets in sorted(ends.items())
        for partition, end in sorted(offsets.items())
    )
    if not ends:
        return "true"
    return _any([f"site NOT IN ({', '.join(quoted(site) for site in sorted(ends))})", *done])


def _is_part(part: Part) -> str:
    site, topic = quoted(part.site), quoted(part.topic)
    return f"site = {site} AND topic = {topic} AND partition = {part.partition}"


def quoted(text: str) -> str:
    """A literal; names hold neither quotes nor backslashes, and yet."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _any(predicates: Iterable[str]) -> str:
    listed = " OR ".join(predicates)
    return f"({listed})" if listed else "false"
