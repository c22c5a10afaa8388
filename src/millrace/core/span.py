"""A span of a site's records, by their offsets."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.core.coordinates import Part
from millrace.core.lag import Offsets, Partition, batch_rows
from millrace.core.ranges import Range


@dataclass(frozen=True)
class Span:
    """From `begin` up to, without, `end`; where a partition has no beginning, from its first."""

    site: str
    begin: Offsets
    end: Offsets

    def start(self) -> dict[Partition, int]:
        """Where it begins in each of its partitions."""
        return {part: self.begin.get(part, 0) for part in self.end}

    def rows(self) -> int | None:
        """How many offsets; None where a partition has no known beginning."""
        return batch_rows(self.begin, self.end)

    def ranges(self) -> dict[Part, Range]:
        """Without the partitions that have nothing in it."""
        return {
            Part(self.site, *partition): Range(first=begin, last=end - 1)
            for partition, end in self.end.items()
            if (begin := self.begin.get(partition, 0)) < end
        }
