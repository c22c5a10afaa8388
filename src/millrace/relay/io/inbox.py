"""What readers have brought and the writer has not taken yet: one transaction's worth at most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from threading import Condition, Event

from confluent_kafka import Message

from millrace.kafka.core.coordinates import Part
from millrace.relay.core.positions import Mark, Position, TopicIds
from millrace.relay.core.relay_plan import TRANSACTION_BYTES, TRANSACTION_RECORDS


@dataclass(frozen=True)
class RelayedBatch:
    """Records of one site in their order, and how far partitions are read without any."""

    site: str
    # Of its topics, when this was read.
    origins: Mapping[str, TopicIds]
    messages: list[Message] = field(default_factory=list)
    positions: dict[Part, int] = field(default_factory=dict)
    # Set when the writer is done with it, and so with all that came before.
    passed: Event | None = None

    def position(self, part: Part, offset: int, last: Mark | None = None) -> Position:
        origin = self.origins[part.topic]
        return Position(origin.topic_id, offset, origin.target_id, last)

    @property
    def bytes(self) -> int:
        """Of values; what else there is to a record is small."""
        return sum(map(len, self.messages))

    def before(self, limits: Mapping[Part, int]) -> RelayedBatch:
        """Without what these partitions have from there on."""
        return replace(
            self,
            messages=[message for message in self.messages if not self._is_behind(message, limits)],
            positions={
                part: offset for part, offset in self.positions.items() if part not in limits
            },
        )

    def _is_behind(self, message: Message, limits: Mapping[Part, int]) -> bool:
        limit = limits.get(Part(self.site, message.topic() or "", message.partition() or 0))
        return limit is not None and (message.offset() or 0) >= limit


class Inbox:
    """Bounded by what batches hold: many small ones may wait, or what came since would wait behind
    them for another transaction."""

    def __init__(self) -> None:
        self._batches: list[RelayedBatch] = []
        self._records = self._bytes = 0
        self._changed = Condition()

    def put(self, batch: RelayedBatch, timeout_s: float) -> bool:
        """False: there is no room yet."""
        with self._changed:
            if not self._changed.wait_for(self._has_room, timeout_s):
                return False
            self._batches.append(batch)
            self._records += max(1, len(batch.messages))
            self._bytes += batch.bytes
            self._changed.notify_all()
            return True

    def take(self, timeout_s: float) -> list[RelayedBatch]:
        """All that waits; none: nothing came."""
        with self._changed:
            self._changed.wait_for(lambda: self._batches, timeout_s)
            batches, self._batches = self._batches, []
            self._records = self._bytes = 0
            self._changed.notify_all()
            return batches

    def _has_room(self) -> bool:
        return self._records < TRANSACTION_RECORDS and self._bytes < TRANSACTION_BYTES
