"""What a query saw of its producers' numbers, kept with its checkpoint."""

from __future__ import annotations

import json
from dataclasses import dataclass

from millrace.core.ranges import Ranges
from millrace.core.twins import Seen, pairs_of, seen_of_pairs
from millrace.state.objects import Objects

# That of the newest batch and that of the one before, which may have to be done again.
_KEPT = 2


@dataclass(frozen=True)
class TwinFiles:
    files: Objects

    def after(self, batch: int) -> dict[str, Ranges] | None:
        """None where nothing is kept of that batch."""
        text = self.files.read(_name(batch))
        kept = json.loads(text) if text else {}
        return seen_of_pairs(kept["seen"]) if kept.get("batch") == batch else None

    def keep(self, batch: int, seen: Seen) -> None:
        text = json.dumps({"batch": batch, "seen": pairs_of(seen)}, separators=(",", ":"))
        self.files.put(_name(batch), text)


def _name(batch: int) -> str:
    return f"twins/{batch % _KEPT}.json"
