"""Takes what readers bring into transactions, as large as the backlog and as soon as can be."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from threading import Event

from confluent_kafka import Message

from millrace.core.coordinates import Part
from millrace.core.relay_plan import refused
from millrace.edge.relay.inbox import Batch, Inbox
from millrace.edge.relay.ledger import Ledger
from millrace.edge.relay.target import AbortedError, Target

_WAIT_S = 0.2
_PAUSE_S = 0.5


class Writer:
    """One transaction after the other, so a partition's records keep their order."""

    def __init__(self, target: Target, ledger: Ledger, inbox: Inbox, stop: Event) -> None:
        self._target, self._ledger, self._inbox, self._stop = target, ledger, inbox, stop
        # What follows a refused record must not overtake it.
        self._refused_at: dict[Part, int] = {}
        self.trouble = ""
        self.messages = 0
        self.transactions = 0
        self.last_commit_at: datetime | None = None

    def bring_next(self) -> None:
        """What waits, or comes within a moment."""
        if batches := self._inbox.take(_WAIT_S):
            self._bring(batches)

    def _bring(self, batches: Sequence[Batch]) -> None:
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

    def _find_refused(self, batches: Sequence[Batch], reason: str) -> None:
        """By halves, each in a transaction of its own; what follows the refused one stays behind.

        A target refuses a batch of records as a whole, so it alone does not say which.
        """
        records = [(one.site, message) for one in batches for message in one.messages]
        if len(records) == 1:
            ((site, message),) = records
            offset = message.offset() or 0
            part = Part(site, message.topic() or "", message.partition() or 0)
            self._refused_at[part] = offset
            self._ledger.halt(refused(part, offset, reason))
            return
        for half in (records[: len(records) // 2], records[len(records) // 2 :]):
            self._bring([Batch(site, [message]) for site, message in half])
        self._bring([Batch(one.site, positions=one.positions) for one in batches])

    def _commit(self, batches: Sequence[Batch]) -> None:
        positions = self._news(batches)
        messages = [(batch.site, self._unhindered(batch.messages, batch.site)) for batch in batches]
        count = sum(len(ones) for _, ones in messages)
        if not (count or positions):
            return
        self._target.begin()
        for site, ones in messages:
            for part, offset in self._target.produce(site, ones).items():
                positions[part] = max(offset, positions.get(part, 0))
        self._target.note(positions)
        self._target.commit()
        self._ledger.advance(positions)
        self.trouble = ""
        self.messages += count
        self.transactions += 1
        self.last_commit_at = datetime.now(UTC)

    def _news(self, batches: Sequence[Batch]) -> dict[Part, int]:
        """Where partitions begin, or end without a record of ours; never a step back."""
        return {
            part: offset
            for batch in batches
            for part, offset in batch.positions.items()
            if part not in self._refused_at and self._is_ahead(part, offset)
        }

    def _is_ahead(self, part: Part, offset: int) -> bool:
        known = self._ledger.position(part)
        return known is None or offset > known

    def _unhindered(self, messages: list[Message], site: str) -> list[Message]:
        if not self._refused_at:
            return messages
        return [message for message in messages if not self._waits(message, site)]

    def _waits(self, message: Message, site: str) -> bool:
        part = Part(site, message.topic() or "", message.partition() or 0)
        limit = self._refused_at.get(part)
        return limit is not None and (message.offset() or 0) >= limit
