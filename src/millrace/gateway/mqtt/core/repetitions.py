"""Numbers that came before, of messages that nobody remembers: some are repetitions after a cut,
more are a publisher that has begun to count anew, or a second one of the same name."""

from __future__ import annotations

_WITHIN_S = 600.0
_MOST_NAMES = 100


class Repetitions:
    def __init__(self, most: int) -> None:
        """`most`: as many of one publisher may be repetitions."""
        self._most = most
        # By name: since when it is counted, and how many.
        self._seen: dict[str, tuple[float, int]] = {}

    def are_too_many(self, name: str, now_s: float) -> bool:
        """With one more of this name."""
        since_s, count = self._seen.pop(name, (now_s, 0))
        if now_s - since_s > _WITHIN_S:
            since_s, count = now_s, 0
        self._seen[name] = since_s, count + 1
        if len(self._seen) > _MOST_NAMES:
            del self._seen[next(iter(self._seen))]
        return count + 1 > self._most
