"""The fence: a job whose generation is not the newest any more ends before it writes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from millrace.jobs.io.generations import latest
from millrace.storage.core.bucket import Bucket


class FencedError(Exception):
    """A newer generation owns the checkpoint."""


@dataclass(frozen=True)
class Fence:
    """Holds while this generation is the newest."""

    place: str | Path
    generation: int
    bucket: Bucket | None = None

    def check(self) -> None:
        newest = latest(self.place, self.bucket)
        if newest != self.generation:
            raise FencedError(f"generation {newest} took over from {self.generation}")
