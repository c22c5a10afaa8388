"""What a query saw of its producers' numbers, kept with its checkpoint."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from millrace.base.ranges import Ranges
from millrace.ingest.core.duplicates import Seen, pairs_of, seen_of_pairs
from millrace.ingest.core.record_span import Span
from millrace.storage.io.objects import Objects

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


@dataclass
class TwinMemory:
    """What a site's query saw, from batch to batch and over restarts."""

    files: TwinFiles
    # Where nothing is kept, as with the first batch of a checkpoint: what came before that batch.
    begin: Callable[[Span], Seen] = lambda _: {}
    _latest: tuple[int, Seen] | None = None

    def before(self, batch: int, span: Span) -> Seen:
        """Kept before the batch is in any table, so that its repetition begins with the same."""
        if self._latest and self._latest[0] == batch - 1:
            return self._latest[1]
        kept = self.files.after(batch - 1)
        if kept is not None:
            return kept
        first = self.begin(span)
        self.keep(batch - 1, first)
        return first

    def keep(self, batch: int, seen: Seen) -> None:
        self.files.keep(batch, seen)
        self._latest = (batch, seen)


def _name(batch: int) -> str:
    return f"twins/{batch % _KEPT}.json"
