"""One spool's messages on their way: which is next, which are done, which were there before."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path

from millrace.core.gateway.identity import Headers, Identity, content_of
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
        # When the eldest of each stretch that was read came, by the stretch's first index and the
        # spool's clock.
        self._times: deque[tuple[int, int]] = deque()
        # Numbers that the broker has already and what they stand for there, by topic and epoch;
        # met before the index of the horizon.
        self._found: dict[tuple[bytes, int], dict[int, int]] = {}
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
            self._identities[topic] = Identity(self._site, self.name, topic.decode())
        return self._identities[topic]

    def headers(self, record: Record) -> Headers:
        return self.identity(record.draft.topic).headers(record.epoch, record.number)

    def next(self) -> Record | None:
        """The next message that is not done; it stays the next until it is handed over."""
        while True:
            while self._waiting:
                record = self._waiting[0]
                if self._is_anothers(record):
                    self._begin_life(record)
                    continue
                if not self._is_done(record):
                    return record
                self._waiting.popleft()
            records = self.reader.read()
            if not records:
                self.window.pass_over(self.reader.position)
                return None
            self._times.append((records[0].serial, records[0].clock_s))
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
        window = self.window
        if not window.wants(record.serial):
            return True
        if self._found and self._content_there(record) is not None:
            window.hand_over(record.serial)
            window.finish(record.serial)
            self.delivered += 1
            return True
        if self._found and record.serial >= self._horizon:
            self._found.clear()
        return False

    def _content_there(self, record: Record) -> int | None:
        """Of the message that the broker has under the name of this one; None: it has none."""
        found = self._found.get((record.draft.topic, record.epoch))
        return found.get(record.number) if found else None

    # Names that were given to other messages.

    def _is_anothers(self, record: Record) -> bool:
        there = self._content_there(record) if self._found else None
        return there is not None and there != content_of(record.draft.key, record.draft.value)

    def _begin_life(self, record: Record) -> None:
        log.error(
            "%s: the broker has another message under the name of message %s: another life of this"
            " spool has sent it, as after a restored backup or a cloned disk; this one goes on"
            " under other names",
            *(self.name, record.serial),
        )
        self.spool.begin_life(record)
        self._waiting = deque(self.spool.named(self._waiting))

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

    def find(self, topic: str, messages: Iterable[tuple[Headers, int]]) -> None:
        """With what they hold, as `content_of` says it: a name alone proves nothing."""
        name = topic.encode()
        identity = self.identity(name)
        for headers, content in messages:
            found = identity.found_in(headers)
            if found:
                self._found.setdefault((name, found[0]), {})[found[1]] = content
        self._horizon = self.spool.next_index
        ours = self._found.get((name, self.spool.epoch))
        if ours and max(ours) >= self.spool.next_number(name):
            log.error(
                "%s: the broker has numbers of topic %s that this spool has never given: it was"
                " put back to an older state; what comes from now on has other names",
                *(self.name, topic),
            )
            self.spool.begin_life()

    # What is written down.

    def save(self) -> None:
        """How far it is, and what is not needed any more goes."""
        self._file.write(self.window.progress(is_looked_through=not self._found))
        self.spool.trim(self.window.base)
        self.spool.oldest_s = self._oldest_s()

    def _oldest_s(self) -> int | None:
        while len(self._times) > 1 and self._times[1][0] <= self.window.base:
            self._times.popleft()
        if self.window.base >= self.spool.next_index or not self._times:
            return None
        return self._times[0][1]

    def close(self) -> None:
        self.save()
        self.reader.close()
        self._file.close()
