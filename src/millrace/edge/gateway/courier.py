"""One spool's messages on their way: which is next, which are done, which were there before."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path

from millrace.core.gateway.identity import Headers, Identity
from millrace.core.gateway.records import Record
from millrace.core.gateway.window import Window
from millrace.edge.gateway.dead_letters import DeadLetters
from millrace.edge.gateway.progress_file import ProgressFile
from millrace.edge.gateway.reader import Reader
from millrace.edge.gateway.spool import Spool

log = logging.getLogger(__name__)


class Courier:
    """Used by the delivering thread alone."""

    def __init__(self, site: str, name: str, spool: Spool, folder: Path) -> None:
        self.name = name
        self.spool = spool
        self.dead_letters = DeadLetters(folder / "dead-letters.jsonl")
        self._file = ProgressFile(folder / "progress")
        self.window = Window(self._file.read())
        self.reader = Reader(spool, self.window.base)
        self._site = site
        self._identities: dict[bytes, Identity] = {}
        self._waiting: deque[Record] = deque()
        # When the eldest of each stretch that was read came, by the stretch's first index.
        self._times: deque[tuple[int, int]] = deque()
        # Numbers that the broker has already, by topic; met before the index of the horizon.
        self._found: dict[bytes, set[int]] = {}
        self._horizon = self.window.base
        # Before this index each message goes alone: one of them is refused, and which is not known.
        self.careful_until = 0
        # The last that went alone.
        self.alone = -1
        # Those that were refused alone, and why.
        self.condemned: dict[int, str] = {}
        self.delivered = 0

    def identity(self, topic: bytes) -> Identity:
        if topic not in self._identities:
            made = Identity(self._site, self.name, topic.decode(), self.spool.epoch)
            self._identities[topic] = made
        return self._identities[topic]

    def headers(self, record: Record) -> Headers:
        return self.identity(record.draft.topic).headers(record.number)

    def next(self) -> Record | None:
        """The next message that is not done; it stays the next until it is handed over."""
        while True:
            while self._waiting:
                record = self._waiting[0]
                if not self._is_done(record):
                    return record
                self._waiting.popleft()
            records = self.reader.read()
            if not records:
                self.window.pass_over(self.reader.position)
                return None
            self._times.append((records[0].serial, records[0].time_ms))
            self._waiting.extend(records)

    def hand_over(self, record: Record) -> None:
        self._waiting.popleft()
        self.window.hand_over(record.serial)

    def bury(self, record: Record, reason: str) -> None:
        """No broker takes it."""
        self.hand_over(record)
        self.dead_letters.add(record, reason)
        log.error("%s: message %s is a dead letter: %s", self.name, record.serial, reason)
        self.window.finish(record.serial)

    def _is_done(self, record: Record) -> bool:
        window, topic = self.window, record.draft.topic
        if not window.wants(record.serial):
            return True
        if self._found and record.number in self._found.get(topic, ()):
            window.hand_over(record.serial)
            window.finish(record.serial)
            self.delivered += 1
            return True
        if self._found and record.serial >= self._horizon:
            self._found.clear()
        return False

    # When a link is made, and when it breaks.

    def rewind(self) -> None:
        self.window.rewind()
        self.reader.seek(self.window.base)
        self._waiting.clear()
        self._times.clear()

    @property
    def waiting(self) -> int:
        """How many messages of those that the spool still holds are not done."""
        return max(0, self.spool.next_index - max(self.window.base, self.spool.first_index))

    def begins(self, topic: str, ends: Mapping[int, int]) -> dict[int, int] | None:
        """From where on an earlier way may have left messages; None: there was none."""
        if not self.window.knows(topic):
            return None
        known = self.window.progress(is_looked_through=False).offsets.get(topic, {})
        return {number: known.get(number, 0) for number in ends}

    def begin_at(self, topic: str, ends: Mapping[int, int]) -> None:
        self.window.begin_at({(topic, number): end for number, end in ends.items()})

    def find(self, topic: str, headers: Iterable[Headers]) -> None:
        identity = self.identity(topic.encode())
        numbers = {identity.number_in(one) for one in headers} - {None}
        self._found.setdefault(topic.encode(), set()).update(n for n in numbers if n is not None)
        self._horizon = self.spool.next_index

    # What is written down.

    def save(self) -> None:
        """How far it is, and what is not needed any more goes."""
        self._file.write(self.window.progress(is_looked_through=not self._found))
        self.spool.trim(self.window.base)
        self.spool.oldest_ms = self._oldest_ms()

    def _oldest_ms(self) -> int | None:
        while len(self._times) > 1 and self._times[1][0] <= self.window.base:
            self._times.popleft()
        if self.window.base >= self.spool.next_index or not self._times:
            return None
        return self._times[0][1]

    def close(self) -> None:
        self.save()
        self.reader.close()
        self._file.close()
