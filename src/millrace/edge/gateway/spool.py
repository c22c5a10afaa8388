"""An input's messages on disk. One thread writes, one reads; neither waits for the other."""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable
from pathlib import Path

from millrace.core.gateway.bounds import Bounds, Fill, is_full, is_too_old
from millrace.core.gateway.identity import new_epoch
from millrace.core.gateway.ledger import Entry
from millrace.core.gateway.records import OVERHEAD_BYTES, Draft, Record, encode
from millrace.core.gateway.segments import encode_heading, file_name
from millrace.edge.gateway.data_folder import hold
from millrace.edge.gateway.disk import NoRoomError, allocate, make_file, write_whole
from millrace.edge.gateway.recovery import recover
from millrace.edge.gateway.renamed import Renamed
from millrace.edge.gateway.witness import Witness

log = logging.getLogger(__name__)
Clock = Callable[[], float]


class Spool:
    def __init__(
        self,
        folder: Path,
        bounds: Bounds,
        clock: Clock = time.time,
        *,
        waits_for_missing: bool = True,
    ) -> None:
        """`waits_for_missing`: who numbers messages begins with 1, and sends again what was not
        taken."""
        self._hold = hold(folder)
        self.folder = folder
        self.bounds = bounds
        self._clock = clock
        found = recover(folder)
        self._ledger = found.ledger
        self._ledger.waits_for_missing = waits_for_missing
        self._witness = Witness(folder)
        self._renamed = Renamed(folder / "renamed.json")
        # Messages that were safe and are not here, as an older state of the folder came back.
        self.missing = self._begin_or_go_on(is_new=not found.segments)
        self._lock = threading.Lock()
        self._segments = found.segments
        self._sizes = {first: self.path(first).stat().st_size for first in found.segments}
        self._handle: int | None = None
        # Everything before it is safe: the newest segment, the byte, the next message's index.
        self._durable = (found.segments[-1] if found.segments else 0, 0, found.ledger.next_index)
        if found.tail:
            self._handle = os.open(self.path(found.segments[-1]), os.O_RDWR)
            self._durable = (found.segments[-1], found.tail.end, found.ledger.next_index)
        # Of the eldest message that waits, as whoever delivers has seen it.
        self.oldest_ms: int | None = None
        self.dropped = 0
        self._base = 0
        # Messages from here on are still looked at, delivered or not; none: nobody looks at them.
        self.hold_from: int | None = None

    @property
    def epoch(self) -> int:
        return self._ledger.epoch

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

    def path(self, first: int) -> Path:
        return self.folder / file_name(first)

    def last_of(self, origin: bytes) -> int:
        """The number of an origin's last message that is safe; 0: none is known."""
        return self._ledger.last_of(origin)

    # Lives.

    def _begin_or_go_on(self, *, is_new: bool) -> int:
        ledger, witness = self._ledger, self._witness
        if not is_new and witness.knows(ledger.epoch, ledger.next_index):
            return 0
        missing = 0 if is_new else witness.missing(ledger.epoch, ledger.next_index)
        ledger.epoch = self._new_epoch()
        witness.begin(ledger.epoch, ledger.next_index)
        if missing:
            log.error(
                "%s: it came back in an older state: %s messages that were safe are not here; those"
                " of them that the broker has not are lost",
                *(self.folder, missing),
            )
        elif not is_new:
            log.info(
                "%s: this machine has not seen it since it was started, so it may be a copy or an"
                " older state: what comes from now on is named in epoch %s",
                *(self.folder, ledger.epoch),
            )
        return missing

    def begin_life(self, record: Record | None = None) -> None:
        """Another life has used its numbers; those of `record` and of all behind it too."""
        epoch = self._new_epoch()
        if record:
            self._renamed.add(record, epoch)
        self._ledger.epoch = epoch
        self._witness.begin(epoch, self.next_index)

    def named(self, records: Iterable[Record]) -> list[Record]:
        """As they are sent: under another name where their own was used by another life."""
        return [self._renamed.apply(one) for one in records] if self._renamed else list(records)

    def _new_epoch(self) -> int:
        return new_epoch(int(self._clock()), secrets.randbits(31), self._ledger.epoch)

    # What the writing thread calls.

    def keep(self, drafts: list[Draft]) -> list[Entry]:
        """On disk when it returns, but for what gets no number."""
        now_ms = int(self._clock() * 1000)
        handle = self._with_room_for(sum(map(bytes_of, drafts)), now_ms)
        entered = self._ledger.enter(drafts, now_ms)
        data = b"".join(encode(record) for record in entered if isinstance(record, Record))
        if data:
            first, end, _ = self._durable
            write_whole(handle, data, end)
            os.fdatasync(handle)
            self._durable = (first, end + len(data), self._ledger.next_index)
            self._witness.note(self._ledger.next_index)
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
            return True

    def _with_room_for(self, size: int, now_ms: int) -> int:
        fill = Fill(segments=len(self._segments), oldest_ms=self.oldest_ms)
        if is_too_old(self.bounds, fill, now_ms):
            raise NoRoomError("the oldest message waits for longer than spool.age")
        first, end, _ = self._durable
        if self._handle is not None and end + size <= self._sizes[first]:
            return self._handle
        if self._segments and self._segments[-1] == self._ledger.next_index:
            return self._extend()
        if is_full(self.bounds, fill):
            raise NoRoomError("the spool holds as much as spool.size allows")
        return self._begin_segment()

    def _begin_segment(self) -> int:
        first = self._ledger.next_index
        heading = encode_heading(self._ledger.heading())
        try:
            return self._add(first, heading, self.bounds.segment_bytes)
        except NoRoomError:
            if self._base < first:
                raise
        # The disk is full, and all is delivered: what is there may go before there is more.
        self._add(first, heading, 0)
        self.trim(first)
        return self._extend()

    def _add(self, first: int, heading: bytes, room: int) -> int:
        size = len(heading) + room
        handle = make_file(self.path(first), size, heading)
        with self._lock:
            self._seal()
            self._handle = handle
            self._segments.append(first)
            self._sizes[first] = size
            self._durable = (first, len(heading), first)
        return handle

    def _extend(self) -> int:
        """Room for the newest segment, which has none yet."""
        first, end, _ = self._durable
        if self._handle is None:
            raise NoRoomError("it is closed")
        allocate(self._handle, end + self.bounds.segment_bytes)
        self._sizes[first] = end + self.bounds.segment_bytes
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
        self._witness.close()
        self._hold.close()

    def _remove(self, first: int) -> None:
        self._segments.remove(first)
        self._sizes.pop(first)
        self.path(first).unlink(missing_ok=True)


def bytes_of(draft: Draft) -> int:
    """On disk."""
    topic, key, value, origin, _ = draft
    return OVERHEAD_BYTES + len(topic) + len(key or b"") + len(value) + len(origin)
