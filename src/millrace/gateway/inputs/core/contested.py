"""Names that more than one device uses at once: each time is counted, and told for a while."""

from __future__ import annotations

_TOLD_FOR_S = 600.0
_MOST_NAMES = 100


class Contested:
    def __init__(self) -> None:
        self.count = 0
        # When each was contested last, the latest at the end.
        self._latest: dict[str, float] = {}

    def note(self, name: str, now_s: float) -> bool:
        """Whether this is news, and not what was told already."""
        is_news = name not in self.names(now_s)
        self.count += 1
        self._latest.pop(name, None)
        self._latest[name] = now_s
        if len(self._latest) > _MOST_NAMES:
            del self._latest[next(iter(self._latest))]
        return is_news

    def names(self, now_s: float) -> tuple[str, ...]:
        """Those of the last minutes."""
        return tuple(name for name, at_s in self._latest.items() if now_s - at_s < _TOLD_FOR_S)
