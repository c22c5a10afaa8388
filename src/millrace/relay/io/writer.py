"""Takes what readers bring into transactions, as large as the backlog and as soon as can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from threading import Event

from confluent_kafka import Message

from millrace.kafka.core.coordinates import Part
from millrace.relay.core.positions import Mark, Position
from millrace.relay.core.relay_plan import refused
from millrace.relay.io.inbox import Inbox, RelayedBatch
from millrace.relay.io.relay_ledger import RelayLedger
from millrace.relay.io.target import AbortedError, Target

_WAIT_S = 0.2
_PAUSE_S = 0.5


class Writer:
    """One transaction after the other, so a partition's records keep their order."""

    def __init__(self, target: Target, ledger: RelayLedger, inbox: Inbox, stop: Event) -> None:
        self._target, self._ledger, self._inbox, self._stop = target, ledger, inbox, stop
        # What follows a refused record must not overtake it.
        self._refused_at: dict[Part, Position] = {}
        self.trouble = ""
        self.messages = 0
        self.transactions = 0
        self.last_commit_at: datetime | None = None

    def bring_next(self) -> None:
        """What waits, or comes within a moment."""
        if batches := self._inbox.take(_WAIT_S):
            self._bring(batches)
            for batch in batches:
                if batch.passed:
                    batch.passed.set()

    def _bring(self, batches: Sequence[RelayedBatch]) -> None:
        """Until it is committed: nothing is read again for an aborted transaction."""
        done = False
        while not (done or self._stop.is_set()):
            try:
                self._commit(batches)
                done = True
            except AbortedError as error:
                self.trouble = str(error)
                if error.is_refusal:
                    done = True
                    self._find_refused(batches, str(error))
                else:
                    self._stop.wait(_PAUSE_S)

    def _find_refused(self, batches: Sequence[RelayedBatch], reason: str) -> None:
        """By halves, each in a transaction of its own; what follows the refused one stays behind.

        A target refuses a batch of records as a whole, so it alone does not say which.
        """
        records = [(one, message) for one in batches for message in one.messages]
        if len(records) == 1:
            ((batch, message),) = records
            offset = message.offset() or 0
            part = Part(batch.site, message.topic() or "", message.partition() or 0)
            self._refused_at[part] = batch.position(part, offset)
            self._ledger.halt(refused(part, offset, reason))
            return
        for half in (records[: len(records) // 2], records[len(records) // 2 :]):
            self._bring([replace(one, messages=[message], positions={}) for one, message in half])
        self._bring([replace(one, messages=[]) for one in batches])

    def _commit(self, batches: Sequence[RelayedBatch]) -> None:
        batches = [self._unhindered(batch) for batch in batches]
        count = sum(len(batch.messages) for batch in batches)
        if not (count or self._news(batches)):
            return
        self._target.begin()
        positions: dict[Part, Position] = {}
        for batch in batches:
            for part, position in self._target.produce(batch).items():
                _advance(positions, part, position)
            for part, position in self._news([batch]).items():
                _advance(positions, part, position)
        self._target.note(positions)
        self._target.commit()
        self._ledger.advance(positions)
        self.trouble = ""
        self.messages += count
        self.transactions += 1
        self.last_commit_at = datetime.now(UTC)

    def _news(self, batches: Sequence[RelayedBatch]) -> dict[Part, Position]:
        """Where partitions begin, or end without a record of ours; never a step back."""
        found = {}
        for batch in batches:
            for part, offset in batch.positions.items():
                known = self._ledger.position(part)
                position = batch.position(part, offset, _last(known, batch, part))
                if not self._is_refused(part, position) and position.is_ahead_of(known):
                    found[part] = position
        return found

    def _is_refused(self, part: Part, position: Position) -> bool:
        """In this very topic: one that was made anew since begins without it."""
        limit = self._refused_at.get(part)
        return (
            limit is not None
            and limit.topic_id == position.topic_id
            and position.offset >= limit.offset
        )

    def _unhindered(self, batch: RelayedBatch) -> RelayedBatch:
        if not self._refused_at:
            return batch
        kept = [message for message in batch.messages if not self._waits(message, batch)]
        return replace(batch, messages=kept)

    def _waits(self, message: Message, batch: RelayedBatch) -> bool:
        part = Part(batch.site, message.topic() or "", message.partition() or 0)
        return self._is_refused(part, batch.position(part, message.offset() or 0))


def _advance(positions: dict[Part, Position], part: Part, position: Position) -> None:
    """The last record stays known where a position goes on without one."""
    before = positions.get(part)
    if not position.is_ahead_of(before):
        return
    if before and before.topic_id == position.topic_id and before.last:
        last = position.last
        newer = last if last and last.offset > before.last.offset else before.last
        position = position._replace(last=newer)
    positions[part] = position


def _last(known: Position | None, batch: RelayedBatch, part: Part) -> Mark | None:
    is_same = known is not None and known.topic_id == batch.origins[part.topic].topic_id
    return known.last if known and is_same else None
