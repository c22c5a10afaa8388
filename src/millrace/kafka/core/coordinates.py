"""Where a record came from, and predicates over it: literals, so that engines can prune by them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from typing import NamedTuple

from millrace.base.ranges import Range


class Part(NamedTuple):
    """One partition of one topic of one site."""

    site: str
    topic: str
    partition: int
    # Of the topic's incarnation (kafka/core/incarnations.py), wherever rows are meant; empty where
    # the topic is meant that is there now.
    topic_id: str = ""

    def __str__(self) -> str:
        name = f"{self.site}/{self.topic}-{self.partition}"
        return f"{name} ({self.topic_id})" if self.topic_id else name

    @property
    def now(self) -> Part:
        """The same of whatever topic has this name now."""
        return self._replace(topic_id="")


def in_ranges(ranges: Mapping[Part, Range]) -> str:
    """Rows of these partitions between these offsets."""
    return any_of(
        f"({is_part(part)} AND offset >= {one.first} AND offset <= {one.last})"
        for part, one in sorted(ranges.items())
    )


def from_on(begin: Mapping[Part, int]) -> str:
    """Rows of these partitions from these offsets on."""
    return any_of(
        f"({is_part(part)} AND offset >= {first})" for part, first in sorted(begin.items())
    )


def on_days(days: Iterable[date]) -> str:
    listed = ", ".join(f"DATE'{day}'" for day in sorted(days))
    return f"day IN ({listed})" if listed else "false"


def with_days_before(days: Iterable[date]) -> frozenset[date]:
    """And the day before each: what came shortly before midnight is of that."""
    return frozenset(day - timedelta(days=back) for day in days for back in (0, 1))


def since_day(first: date | None) -> str:
    return f"day >= DATE'{first}'" if first else "true"


def since_time(first: date | None) -> str:
    """As `since_day`, for rows whose day may be the first of their month
    (kafka/core/record_time.py).
    """
    return f"kafka_time >= TIMESTAMP'{first} 00:00:00Z'" if first else "true"


def between_days(first: date, last: date) -> str:
    return f"day >= DATE'{first}' AND day <= DATE'{last}'"


def is_part(part: Part) -> str:
    return f"{is_topic(part.site, part.topic, [part.topic_id])} AND partition = {part.partition}"


def is_topic(site: str, topic: str, ids: Iterable[str]) -> str:
    """Rows of these incarnations of it."""
    listed = ", ".join(quoted(one) for one in ids)
    return f"site = {quoted(site)} AND topic = {quoted(topic)} AND topic_id IN ({listed})"


def quoted(text: str) -> str:
    """A literal; names hold neither quotes nor backslashes, and yet."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def any_of(predicates: Iterable[str]) -> str:
    listed = " OR ".join(predicates)
    return f"({listed})" if listed else "false"
