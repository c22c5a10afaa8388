"""How far a spool is delivered, written in place: that needs no room on a full disk."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

from millrace.gateway.delivery.core.window import DeliveryProgress
from millrace.gateway.spool.io.disk import write_whole
from millrace.storage.io.files import sync_folder

_HEAD = struct.Struct("<QII")  # turn, length, CRC-32
_SLOT_BYTES = 256 << 10


class ProgressFile:
    """Two slots that take turns, so that one is whole whenever a write is cut short."""

    def __init__(self, file: Path) -> None:
        is_new = not file.exists()
        self._handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        if is_new:
            os.posix_fallocate(self._handle, 0, 2 * _SLOT_BYTES)
            os.fsync(self._handle)
            sync_folder(file.parent)
        # How often it was written.
        self.turn, self._last = _newest(self._handle)

    def read(self) -> DeliveryProgress:
        return self._last

    def write(self, progress: DeliveryProgress) -> None:
        if progress == self._last:
            return
        body = progress.model_dump_json().encode()
        if len(body) > _SLOT_BYTES - _HEAD.size:
            raise ValueError(f"{len(body)} bytes of progress do not fit; are there so many topics?")
        self.turn += 1
        data = _HEAD.pack(self.turn, len(body), zlib.crc32(body)) + body
        write_whole(self._handle, data, (self.turn % 2) * _SLOT_BYTES)
        os.fdatasync(self._handle)
        self._last = progress

    def close(self) -> None:
        os.close(self._handle)


def read_progress(file: Path) -> DeliveryProgress:
    """Also beside the gateway that writes it; where there is none, nothing is delivered."""
    try:
        handle = os.open(file, os.O_RDONLY)
    except FileNotFoundError:
        return DeliveryProgress()
    try:
        return _newest(handle)[1]
    finally:
        os.close(handle)


def _newest(handle: int) -> tuple[int, DeliveryProgress]:
    slots = [_read_slot(handle, number) for number in range(2)]
    whole = [slot for slot in slots if slot]
    return max(whole, key=lambda slot: slot[0], default=(0, DeliveryProgress()))


def _read_slot(handle: int, number: int) -> tuple[int, DeliveryProgress] | None:
    data = os.pread(handle, _SLOT_BYTES, number * _SLOT_BYTES)
    if len(data) < _HEAD.size:
        return None
    turn, length, crc = _HEAD.unpack_from(data)
    body = data[_HEAD.size : _HEAD.size + length]
    if turn == 0 or zlib.crc32(body) != crc:
        return None
    return turn, DeliveryProgress.model_validate_json(body)
