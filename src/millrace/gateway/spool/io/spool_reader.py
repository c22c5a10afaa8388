"""Reads a spool's messages in order, behind whoever writes them."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass

from millrace.gateway.spool.core.records import Record, bytes_wanted, decode_at, find_whole
from millrace.gateway.spool.core.segments import HEAD_BYTES, heading_bytes
from millrace.gateway.spool.io.spool_files import Spool

log = logging.getLogger(__name__)
_CHUNK_BYTES = 256 << 10


@dataclass
class _Open:
    """A segment that is being read."""

    first: int
    handle: int
    at: int


class Reader:
    def __init__(self, spool: Spool, index: int) -> None:
        """`index`: the first message that is wanted."""
        self._spool = spool
        self._from = index
        self._open: _Open | None = None
        self.damaged_bytes = 0

    def read(self) -> list[Record]:
        """The next messages, at most a chunk of them; none: that was all for now."""
        while segment := self._open or self._open_at(self._from):
            newest, end, next_index = self._spool.durable
            limit = end if segment.first == newest else os.fstat(segment.handle).st_size
            if segment.at < limit:
                records = self._read_until(segment, limit)
                if records:
                    return records
            elif segment.first == newest:
                self._from = max(self._from, next_index)
                break
            elif not self._go_on(segment):
                break
        return []

    @property
    def position(self) -> int:
        """All messages before it were read, or are lost with what held them."""
        return self._from

    def seek(self, index: int) -> None:
        self.close()
        self._from = index

    def close(self) -> None:
        if self._open:
            os.close(self._open.handle)
            self._open = None

    def _open_at(self, index: int) -> _Open | None:
        first = self._spool.segment_of(index)
        while first is not None:
            try:
                handle = os.open(self._spool.path(first), os.O_RDONLY)
            except FileNotFoundError:  # dropped a moment ago
                first = self._spool.after(first)
                continue
            begin = heading_bytes(os.pread(handle, HEAD_BYTES, 0))
            self._open = _Open(first, handle, begin)
            return self._open
        return None

    def _go_on(self, segment: _Open) -> bool:
        """Whether another segment follows by now."""
        following = self._spool.after(segment.first)
        if following is None:
            return False
        self.close()
        self._from = max(self._from, following)
        return True

    def _read_until(self, segment: _Open, limit: int) -> list[Record]:
        data = os.pread(segment.handle, min(_CHUNK_BYTES, limit - segment.at), segment.at)
        wanted = bytes_wanted(data, 0)
        if len(data) < wanted <= limit - segment.at:
            data = os.pread(segment.handle, wanted, segment.at)
        records, used = [], 0
        while found := decode_at(data, used):
            record, used = found
            if record.serial >= self._from:
                records.append(record)
        segment.at += used or self._damaged(segment, limit)
        if records:
            self._from = records[-1].serial + 1
        return self._spool.named(records)

    def _damaged(self, segment: _Open, limit: int) -> int:
        """How many bytes hold no message, up to the next that can be saved."""
        rest = os.pread(segment.handle, limit - segment.at, segment.at)
        begin = find_whole(rest, 0)
        size = len(rest) if begin is None else begin
        self.damaged_bytes += size
        file = self._spool.path(segment.first)
        log.error("%s: %s bytes at %s are damaged, and lost", file, size, segment.at)
        return size
