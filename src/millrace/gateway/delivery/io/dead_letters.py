"""What no broker takes: kept in a file for a person to look at, with the reason."""

from __future__ import annotations

import base64
import json
import logging
import os
import re
import threading
from datetime import UTC, datetime
from pathlib import Path

from millrace.base.size import format_size
from millrace.gateway.spool.core.records import Record
from millrace.storage.io.files import sync_folder

log = logging.getLogger(__name__)
MOST_BYTES = 256 << 20
_FILE = "dead-letters.jsonl"
# What an operator has asked to be sent again, and the letters on their way.
ASKED, RETURNED = "resend", "resending.jsonl"
_HEAD = re.compile(rb'{"epoch": (\d+), "serial": (\d+),')


class DeadLetters:
    """One file of lines for each input. Letters are on disk before their messages are done."""

    def __init__(
        self, folder: Path, most_bytes: int, base: int, *, looks_only: bool = False
    ) -> None:
        """`base`: messages from here on may have been written though nobody noted that."""
        # Also by who sends letters again.
        self._lock = threading.Lock()
        self._folder = folder
        self._file = folder / _FILE
        self._most_bytes = most_bytes
        self.count = 0
        self.obstacle = ""
        # By epoch and serial number, so that none is written twice.
        self._written: set[tuple[int, int]] = set()
        self._newest = -1
        self._take_stock(base, looks_only=looks_only)

    def write(self, letters: list[tuple[Record, str]]) -> bool:
        """All of them, or none: then `obstacle` says why."""
        if not letters:
            return True
        with self._lock:
            return self._write(letters)

    def _write(self, letters: list[tuple[Record, str]]) -> bool:
        data = b"".join(_line(record, reason) for record, reason in letters)
        if self._size() + len(data) > self._most_bytes:
            bound = format_size(self._most_bytes)
            self._stop(f"dead letters hold as much as dead_letters: {bound} allows; send them"
                       " again (`millrace gateway resend`) or move the file away")  # fmt: skip
            return False
        try:
            self._append(data)
        except OSError as error:
            self._stop(f"dead letters cannot be written: {error.strerror}")
            return False
        self.obstacle = ""
        self.count += len(letters)
        self._newest = max(self._newest, *(record.serial for record, _ in letters))
        return True

    def are_written(self, record: Record) -> bool:
        return bool(self._written) and (record.epoch, record.serial) in self._written

    def give_back(self, base: int) -> None:
        """What an operator has asked for, when nobody can write any of them a second time."""
        asked = self._folder / ASKED
        if not asked.exists():
            return
        with self._lock:
            self._give_back(asked, base)

    def _give_back(self, asked: Path, base: int) -> None:
        if self._newest >= base or (self._folder / RETURNED).exists():
            return
        if self._size():
            self._file.rename(self._folder / RETURNED)
        asked.unlink()
        sync_folder(self._folder)
        self.count = 0
        self.obstacle = ""

    def _size(self) -> int:
        try:
            return self._file.stat().st_size
        except FileNotFoundError:  # somebody has moved it away
            self.count = 0
            return 0

    def _stop(self, obstacle: str) -> None:
        if obstacle != self.obstacle:
            log.error("%s: %s; its messages wait", self._file, obstacle)
        self.obstacle = obstacle

    def _append(self, data: bytes) -> None:
        is_new = not self._file.exists()
        handle = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        end = os.fstat(handle).st_size
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(handle, view) :]
            os.fdatasync(handle)
        except OSError:
            os.ftruncate(handle, end)
            raise
        finally:
            os.close(handle)
        if is_new:
            sync_folder(self._folder)

    def _take_stock(self, base: int, *, looks_only: bool) -> None:
        """Of what is there; a line that was cut short belongs to a message that is not done."""
        if not self._file.exists():
            return
        with self._file.open("rb" if looks_only else "r+b") as lines:
            end = 0
            for line in lines:
                if not line.endswith(b"\n"):
                    if not looks_only:
                        lines.truncate(end)
                    break
                self.count += 1
                end += len(line)
                found = _HEAD.match(line)
                if found and int(found[2]) >= base:
                    self._written.add((int(found[1]), int(found[2])))
                    self._newest = max(self._newest, int(found[2]))


def _line(record: Record, reason: str) -> bytes:
    topic, key, value, _, _ = record.draft
    letter = {
        "epoch": record.epoch,
        "serial": record.serial,
        "reason": reason,
        "topic": topic.decode(),
        "number": record.number,
        "taken_at": datetime.fromtimestamp(record.time_ms / 1000, UTC).isoformat(),
        "key": base64.b64encode(key).decode() if key is not None else None,
        "value": base64.b64encode(value).decode(),
    }
    return json.dumps(letter).encode() + b"\n"
