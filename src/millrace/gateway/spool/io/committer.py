"""Makes messages safe, all that have come together with one wait for the disk."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from millrace.gateway.spool.core.bounds import AtBound
from millrace.gateway.spool.core.ledger import Entry, Unkept
from millrace.gateway.spool.core.records import Draft, Record
from millrace.gateway.spool.io.disk import NoRoomError
from millrace.gateway.spool.io.spool_files import Spool

log = logging.getLogger(__name__)
_MOST_BYTES = 1 << 20
_LOOK_AGAIN_S = 0.1
_KNOWN = (Unkept.KNOWN, Unkept.OTHER, Unkept.LONG_KNOWN)

# What became of each message of a batch; None: there was no room, and they are refused.
Outcome = list[Entry] | None


@dataclass
class ReceivedBatch:
    """Messages that came together, and who is told when they are safe."""

    drafts: list[Draft]
    # On disk.
    bytes: int
    answer: Answer


Answer = Callable[[ReceivedBatch, Outcome], None]


class Committer(threading.Thread):
    """`tell` is called in this thread, once a group; it has each batch answered in its own. Then
    `on_durable`, with what was kept, and what was not."""

    def __init__(
        self,
        name: str,
        spool: Spool,
        at_bound: AtBound,
        tell: Callable[[list[tuple[ReceivedBatch, Outcome]]], None],
        on_durable: Callable[[list[Entry]], None],
    ) -> None:
        super().__init__(name=f"committer-{name}", daemon=True)
        self.spool = spool
        self._at_bound = at_bound
        # A group stands in one segment.
        self.most_bytes = min(_MOST_BYTES, spool.bounds.segment_bytes // 2)
        self._tell = tell
        self._on_durable = on_durable
        self._queue: deque[ReceivedBatch] = deque()
        self._changed = threading.Condition()
        self._ends = False
        self.queued_bytes = 0
        self.kept = self.refused = self.known = 0
        # Why nothing is taken by now; empty: it is.
        self.obstacle = ""
        self.failure: BaseException | None = None

    def submit(self, batch: ReceivedBatch) -> None:
        with self._changed:
            self.queued_bytes += batch.bytes
            self._queue.append(batch)
            self._changed.notify()

    def end(self) -> None:
        """After what was submitted; what has no room is left, and nobody is told it were safe."""
        with self._changed:
            self._ends = True
            self._changed.notify()
        self.join()

    def run(self) -> None:
        try:
            while group := self._next_group():
                self._commit(group)
        except BaseException as error:
            # After a failed sync nobody knows what is on the disk: whoever starts anew will see.
            log.critical("%s: cannot write, giving up: %s", self.spool.folder, error)
            self.failure = error

    def _next_group(self) -> list[ReceivedBatch]:
        with self._changed:
            while not self._queue and not self._ends:
                self._changed.wait()
            group: list[ReceivedBatch] = []
            size = 0
            while self._queue and (not group or size + self._queue[0].bytes <= self.most_bytes):
                group.append(self._queue.popleft())
                size += group[-1].bytes
            return group

    def _commit(self, group: list[ReceivedBatch]) -> None:
        drafts = [draft for batch in group for draft in batch.drafts]
        outcome = self._keep(drafts) if drafts else []
        self.queued_bytes -= sum(batch.bytes for batch in group)
        if outcome is None and self._ends:
            return
        answers: list[tuple[ReceivedBatch, Outcome]] = []
        at = 0
        for batch in group:
            end = at + len(batch.drafts)
            answers.append((batch, outcome[at:end] if outcome is not None else None))
            at = end
        self._tell(answers)
        if outcome:
            self._on_durable(outcome)

    def _keep(self, drafts: list[Draft]) -> Outcome:
        while True:
            try:
                kept = self.spool.keep(drafts)
            except NoRoomError as error:
                if not self._waits_after(error):
                    self.refused += len(drafts)
                    return None
                continue
            self.obstacle = ""
            fresh = sum(isinstance(entry, Record) for entry in kept)
            self.kept += fresh
            if fresh < len(kept):
                self._count_unkept(kept)
            return kept

    def _count_unkept(self, entries: list[Entry]) -> None:
        self.known += sum(entries.count(one) for one in _KNOWN)
        # Who sends too early sends again; these are gone for good.
        self.refused += entries.count(Unkept.TOO_OLD)

    def _waits_after(self, error: NoRoomError) -> bool:
        """Whether it is worth another try."""
        if not self.obstacle:
            log.warning("%s: no room: %s (at_bound: %s)", self.spool.folder, error, self._at_bound)
        self.obstacle = str(error)
        if self._at_bound is AtBound.REFUSE or self._ends:
            return False
        if self._at_bound is AtBound.DROP_OLDEST and self.spool.drop_oldest():
            return True
        with self._changed:
            self._changed.wait(_LOOK_AGAIN_S)
        return True
