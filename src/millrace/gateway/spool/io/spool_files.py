"""An input's messages on disk. One thread writes, one reads; neither waits for the other."""

from __future__ import annotations

import os
import threading
from bisect import bisect_right
from collections.abc import Iterable
from pathlib import Path

from millrace.gateway.spool.core.bounds import SpoolBounds, is_full, is_too_old
from millrace.gateway.spool.core.ledger import Entry
from millrace.gateway.spool.core.records import OVERHEAD_BYTES, Draft, Record, encode
from millrace.gateway.spool.core.segments import encode_heading_of, file_name
from millrace.gateway.spool.io.clock import Clock
from millrace.gateway.spool.io.data_folder import hold
from millrace.gateway.spool.io.disk import NoRoomError, allocate, make_file, write_whole
from millrace.gateway.spool.io.life import life_of
from millrace.gateway.spool.io.recovery import read_heading, recover


class Spool:
    def __init__(
        self,
        folder: Path,
        bounds: SpoolBounds,
        clock: Clock | None = None,
        *,
        waits_for_missing: bool = True,
    ) -> None:
        """`waits_for_missing`: who numbers messages begins with 1, and sends again what was not
        taken."""
        self._hold = hold(folder)
        self.folder = folder
        self.bounds = bounds
        found = recover(folder, waits_for_missing=waits_for_missing)
        self._ledger = found.ledger
        is_new = not found.segments
        self.life = life_of(folder, found.ledger, clock or Clock(), is_new=is_new)
        self._lock = threading.Lock()
        self._segments = found.segments
        self._sizes = {first: self.path(first).stat().st_size for first in found.segments}
        self._handle: int | None = None
        # Everything before it is safe: the newest segment, the byte, the next message's index.
        self._durable = (found.segments[-1] if found.segments else 0, 0, found.ledger.next_index)
        if found.tail:
            self._handle = os.open(self.path(found.segments[-1]), os.O_RDWR)
            self._durable = (found.segments[-1], found.tail.end, found.ledger.next_index)
        # When the eldest message that waits came, as whoever delivers has seen it; and before
        # which moment none of those came that are left.
        self.oldest_s: int | None = None
        self._left_since_s = 0
        self.dropped = 0
        self._base = 0
        # Messages from here on are still looked at, delivered or not; none: nobody looks at them.
        self.hold_from: int | None = None

    @property
    def epoch(self) -> int:
        return self._ledger.epoch

    @property
    def renamed_in(self) -> int:
        """The epoch in which messages were named anew last; 0: none ever was."""
        return self.life.renamed_in

    @property
    def may_be_a_copy(self) -> bool:
        """Whether this machine has not seen it before, in this place and as far as this."""
        return self.life.is_another

    def has_newer_progress(self, turn: int) -> bool:
        """Whether progress that was written so often is of an older state of this spool's folder,
        as this machine has seen newer progress since its boot."""
        return self.life.has_newer(turn)

    def note_progress(self, turn: int) -> None:
        self.life.note_progress(turn)

    def next_number(self, topic: bytes) -> int:
        return self._ledger.next_number(topic)

    @property
    def next_index(self) -> int:
        return self._durable[2]

    @property
    def durable(self) -> tuple[int, int, int]:
        return self._durable

    @property
    def first_index(self) -> int:
        with self._lock:
            return self._segments[0] if self._segments else self.next_index

    @property
    def size(self) -> int:
        """In bytes, of all its files."""
        return sum(self._sizes.copy().values())

    @property
    def origins_forgotten(self) -> int:
        return self._ledger.forgotten

    @property
    def oldest_age_s(self) -> float | None:
        if self.oldest_s is None:
            return None
        return float(max(0, self.life.now_s() - max(self.oldest_s, self._left_since_s)))

    def path(self, first: int) -> Path:
        return self.folder / file_name(first)

    def last_of(self, origin: bytes) -> int:
        """The number of an origin's last message that is safe; 0: none is known."""
        return self._ledger.last_of(origin)

    def begin_life(self, first: Record | None = None) -> None:
        """Another life of this spool has used its numbers, as an older state came back."""
        self.life.begin_anew(self.next_index, first)

    def named(self, records: Iterable[Record]) -> list[Record]:
        """As they are sent."""
        return self.life.named(records)

    # What the writing thread calls.

    def keep(self, drafts: list[Draft]) -> list[Entry]:
        """On disk when it returns, but for what gets no number."""
        self.life.stamp()
        handle = self._with_room_for(sum(map(bytes_of, drafts)))
        entered = self._ledger.enter(drafts)
        data = b"".join(encode(record) for record in entered if isinstance(record, Record))
        if data:
            first, end, _ = self._durable
            write_whole(handle, data, end)
            os.fdatasync(handle)
            self._durable = (first, end + len(data), self._ledger.next_index)
            self.life.note(self._ledger.next_index)
        self._ledger.settle()
        return entered

    def drop_oldest(self) -> bool:
        """False: there is nothing that may go."""
        with self._lock:
            if len(self._segments) < 2:
                return False
            eldest, following = self._segments[:2]
            self.dropped += max(0, following - max(eldest, self._base))
            self._remove(eldest)
        heading = read_heading(self.path(following))
        if heading:
            self._left_since_s = heading.clock_s
        return True

    def _with_room_for(self, size: int) -> int:
        if is_too_old(self.bounds, self.oldest_age_s):
            raise NoRoomError("the oldest message waits for longer than spool.age")
        first, end, _ = self._durable
        if self._handle is not None and end + size <= self._sizes[first]:
            return self._handle
        if self._segments and self._segments[-1] == self._ledger.next_index:
            return self._extend(size)
        more = self.bounds.segment_for(size)
        if self._base < self._ledger.next_index and is_full(self.bounds, self.size, more):
            raise NoRoomError("the spool holds as much as spool.size allows")
        return self._begin_segment(size)

    def _begin_segment(self, size: int) -> int:
        first = self._ledger.next_index
        heading = encode_heading_of(self._ledger, self.bounds.heading_bytes)
        if self._base < first:
            return self._add(first, heading, self.bounds.segment_for(size))
        # All is delivered: what is there may go before there is more.
        self._add(first, heading, len(heading))
        self.trim(first)
        return self._extend(size)

    def _add(self, first: int, heading: bytes, size: int) -> int:
        handle = make_file(self.path(first), size, heading)
        with self._lock:
            self._seal()
            self._handle = handle
            self._segments.append(first)
            self._sizes[first] = size
            self._durable = (first, len(heading), first)
        return handle

    def _extend(self, more: int) -> int:
        """Room for the newest segment, which has none yet."""
        first, end, _ = self._durable
        if self._handle is None:
            raise NoRoomError("it is closed")
        size = max(self.bounds.segment_bytes, end + more)
        allocate(self._handle, size)
        self._sizes[first] = size
        return self._handle

    def _seal(self) -> None:
        """The room behind the last message is given back."""
        if self._handle is not None:
            first, end, _ = self._durable
            os.ftruncate(self._handle, end)
            os.close(self._handle)
            self._sizes[first] = end

    # What the reading thread calls.

    def segment_of(self, index: int) -> int | None:
        """The segment that holds a message, or else the first one behind it."""
        with self._lock:
            if not self._segments:
                return None
            at = bisect_right(self._segments, index) - 1
            return self._segments[max(at, 0)]

    def after(self, first: int) -> int | None:
        with self._lock:
            at = bisect_right(self._segments, first)
            return self._segments[at] if at < len(self._segments) else None

    def trim(self, base: int) -> None:
        """What is before `base` is delivered: whole segments of it go."""
        if self.hold_from is not None:
            base = min(base, self.hold_from)
        with self._lock:
            self._base = base
            while len(self._segments) > 1 and self._segments[1] <= base:
                self._remove(self._segments[0])

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
        self.life.close()
        self._hold.close()

    def _remove(self, first: int) -> None:
        self._segments.remove(first)
        self._sizes.pop(first)
        self.path(first).unlink(missing_ok=True)


def bytes_of(draft: Draft) -> int:
    """On disk."""
    topic, key, value, origin, _ = draft
    return OVERHEAD_BYTES + len(topic) + len(key or b"") + len(value) + len(origin)
