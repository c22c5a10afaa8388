"""What was found in the rows of a job since it began, counted on their way into the tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

STAGES = ("time", "twin", "decode", "type", "rule")
# Of the batch's oldest row, when its broker took it.
OLDEST_MS = "oldest"
_STAGE, _RULE = "stage ", "rule "


def stage_key(stage: str) -> str:
    return _STAGE + stage


def rule_key(rule: str) -> str:
    return _RULE + rule


class Tally:
    """One thread adds, others read: a reader sees all of a batch or nothing of it."""

    def __init__(self) -> None:
        self._found: Counter[str] = Counter()
        # How long the oldest row of the last batch was on its way from the broker into all tables;
        # None before the first.
        self.readable_after_s: float | None = None

    def add(self, batch: Mapping[str, int]) -> None:
        self._found = self._found + Counter(batch)

    def on_readable(self, after_s: float) -> None:
        self.readable_after_s = round(max(0.0, after_s), 3)

    def refused(self) -> dict[str, int]:
        """Rows in quarantine, by the stage that refused them."""
        return _under(_STAGE, self._found)

    def broken(self) -> dict[str, int]:
        """Rows against each rule; where the rule only warns, they are in silver all the same."""
        return _under(_RULE, self._found)


def _under(prefix: str, found: Mapping[str, int]) -> dict[str, int]:
    return {
        key.removeprefix(prefix): n for key, n in sorted(found.items()) if key.startswith(prefix)
    }
