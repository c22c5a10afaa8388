"""What no broker takes: kept in files for a person to look at, with the reason."""

from __future__ import annotations

import base64
import json
import os
from datetime import UTC, datetime
from pathlib import Path

from millrace.core.gateway.records import Record
from millrace.edge.gateway.disk import sync_folder


class DeadLetters:
    """One file of lines for each input."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.count = _lines_of(file)

    def add(self, record: Record, reason: str) -> None:
        """On disk when it returns."""
        is_new = not self._file.exists()
        handle = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(handle, _line(record, reason))
            os.fdatasync(handle)
        finally:
            os.close(handle)
        if is_new:
            sync_folder(self._file.parent)
        self.count += 1


def _line(record: Record, reason: str) -> bytes:
    topic, key, value, _, _ = record.draft
    letter = {
        "reason": reason,
        "topic": topic.decode(),
        "number": record.number,
        "serial": record.serial,
        "taken_at": datetime.fromtimestamp(record.time_ms / 1000, UTC).isoformat(),
        "key": base64.b64encode(key).decode() if key is not None else None,
        "value": base64.b64encode(value).decode(),
    }
    return json.dumps(letter).encode() + b"\n"


def _lines_of(file: Path) -> int:
    try:
        with file.open("rb") as lines:
            return sum(1 for _ in lines)
    except FileNotFoundError:
        return 0
