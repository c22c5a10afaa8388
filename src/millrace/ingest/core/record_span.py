"""A span of a site's records, by their offsets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from millrace.base.ranges import Range
from millrace.ingest.core.lag import Offsets, batch_rows
from millrace.kafka.core.coordinates import Part


@dataclass(frozen=True)
class Span:
    """From `begin` up to, without, `end`; where a partition has no beginning, from its first."""

    site: str
    # Of each topic's incarnation.
    ids: Mapping[str, str]
    begin: Offsets
    end: Offsets

    def start(self) -> dict[Part, int]:
        """Where it begins in each of its partitions."""
        return {
            Part(self.site, topic, number, self.ids[topic]): self.begin.get((topic, number), 0)
            for topic, number in self.end
        }

    def rows(self) -> int | None:
        """How many offsets; None where a partition has no known beginning."""
        return batch_rows(self.begin, self.end)

    def ranges(self) -> dict[Part, Range]:
        """Without the partitions that have nothing in it."""
        return {
            part: Range(first=begin, last=end - 1)
            for part, begin in self.start().items()
            if begin < (end := self.end[part.topic, part.partition])
        }
