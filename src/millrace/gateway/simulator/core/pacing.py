"""Pacing: how many messages are due by now, at a steady rate."""

from __future__ import annotations

from dataclasses import dataclass

# Waiting less costs more than it evens out; waiting longer keeps a stop from being seen.
_MIN_WAIT_S, _MAX_WAIT_S = 0.01, 0.5


@dataclass(frozen=True)
class Pace:
    """`rate` messages per second, up to `count` of them. The first is due at once."""

    rate: float
    count: int | None = None

    def due(self, elapsed_s: float) -> int:
        due = int(elapsed_s * self.rate) + 1
        return due if self.count is None else min(due, self.count)

    def is_done(self, sent: int) -> bool:
        return self.count is not None and sent >= self.count

    def wait_s(self, sent: int, elapsed_s: float) -> float:
        """How long until the next one is due; nothing while the run is behind."""
        if self.due(elapsed_s) > sent or self.is_done(sent):
            return 0.0
        return min(max(sent / self.rate - elapsed_s, _MIN_WAIT_S), _MAX_WAIT_S)
