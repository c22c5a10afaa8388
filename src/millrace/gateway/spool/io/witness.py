"""Remembers outside of a spool how far it has come, where no backup and no clone takes it along.

It is a file in the machine's memory, which ends with the boot. A spool that comes up without it, or
has come less far than it says, may be a copy or an older state: its next numbers may have been
given to other messages already, so it begins another life.
"""

from __future__ import annotations

import mmap
import os
import struct
import tempfile
from hashlib import blake2b
from pathlib import Path

_MEMORY = Path("/dev/shm")  # noqa: S108 - whose folder it is is looked at
PLACE = _MEMORY if _MEMORY.is_dir() else Path(tempfile.gettempdir())
_BOOT = Path("/proc/sys/kernel/random/boot_id")
# Boot, device, inode, epoch; the spool's clock when the machine's stood at 0 since its boot; index
# of the next message; how often the progress of its delivery was written.
_SEEN = struct.Struct("<36sQQQqQQ")
SEEN_BYTES = _SEEN.size
_COUNT = struct.Struct("<Q")
_TURN_AT = SEEN_BYTES - _COUNT.size
_NEXT_AT = _TURN_AT - _COUNT.size
_MINE = 0o700


def boot_id() -> bytes:
    """Another after each boot; empty where the system tells of none."""
    try:
        return _BOOT.read_bytes().strip()
    except OSError:
        return b""


class Witness:
    """Of one spool, by its path: a copy of it elsewhere has another one, or none."""

    def __init__(self, memory: mmap.mmap | bytearray, boot: bytes, place: tuple[int, int]) -> None:
        """`place`: device and inode. A folder that was put in another's place is not that one."""
        self._memory = memory
        self._boot = boot
        self._place = place

    def missing(self, epoch: int, next_index: int) -> int:
        """How many messages that spool lacks of those that were safe, as far as is known."""
        boot, _, _, seen_epoch, _, seen_next, _ = _SEEN.unpack_from(self._memory)
        if not self._boot or boot.rstrip(b"\0") != self._boot or seen_epoch != epoch:
            return 0
        return int(max(0, seen_next - next_index))

    def knows(self, epoch: int, next_index: int) -> bool:
        """Whether it is certain that this spool goes on where it was."""
        boot, *place, seen_epoch, _, seen_next, _ = _SEEN.unpack_from(self._memory)
        is_here = boot.rstrip(b"\0") == self._boot != b"" and tuple(place) == self._place
        return is_here and bool(seen_epoch == epoch and seen_next <= next_index)

    @property
    def offset_s(self) -> int:
        """The spool's clock when the machine's stood at 0 since its boot."""
        return int(_SEEN.unpack_from(self._memory)[4])

    def begin(self, epoch: int, offset_s: int, next_index: int) -> None:
        _SEEN.pack_into(self._memory, 0, self._boot, *self._place, epoch, offset_s, next_index, 0)

    def note(self, next_index: int) -> None:
        """Everything before it is safe."""
        _COUNT.pack_into(self._memory, _NEXT_AT, next_index)

    def has_newer(self, turn: int) -> bool:
        """Whether this is not the newest progress that was written since the life began."""
        return bool(turn < _COUNT.unpack_from(self._memory, _TURN_AT)[0])

    def note_progress(self, turn: int) -> None:
        _COUNT.pack_into(self._memory, _TURN_AT, turn)

    def close(self) -> None:
        if isinstance(self._memory, mmap.mmap):
            self._memory.close()


def witness_of(folder: Path) -> Witness:
    found = folder.stat()
    memory = _memory_of(folder) or bytearray(SEEN_BYTES)
    return Witness(memory, boot_id(), (found.st_dev, found.st_ino))


def _memory_of(folder: Path) -> mmap.mmap | None:
    """None: there is no place that is ours alone, and each start begins another life."""
    try:
        place = PLACE / f"millrace-{os.getuid()}"
        place.mkdir(mode=_MINE, exist_ok=True)
        found = place.lstat()
        if found.st_uid != os.getuid() or found.st_mode & 0o077 or place.is_symlink():
            return None
        handle = os.open(place / _name_of(folder), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            os.ftruncate(handle, SEEN_BYTES)
            return mmap.mmap(handle, SEEN_BYTES)
        finally:
            os.close(handle)
    except OSError:
        return None


def _name_of(folder: Path) -> str:
    return blake2b(os.fsencode(folder.resolve()), digest_size=16).hexdigest()
