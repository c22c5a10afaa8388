"""What a table's log says of its files: all that a plan is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple


class DataFile(NamedTuple):
    path: str
    size_bytes: int
    written_ms: int
    # When its oldest row came to the broker.
    first_ms: int
    # When its newest row came into the table.
    came_ms: int


@dataclass(frozen=True)
class TableLog:
    version: int
    # The version that the last checkpoint sums up; None: there is none yet.
    checkpoint: int | None
    days: Mapping[date, Sequence[DataFile]]
    # Files in the table's folder that no version of the last days needs any more.
    unneeded_files: int = 0

    @property
    def commits_to_read(self) -> int:
        """What every reader has to read on top of the last checkpoint."""
        return self.version - (-1 if self.checkpoint is None else self.checkpoint)
