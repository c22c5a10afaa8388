"""The alarms of the last look for gaps, so that none is told each night anew."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from millrace.repair.core.alarms import Alarm
from millrace.storage.io.files import read_text, write_atomic

_ALARMS = TypeAdapter(tuple[Alarm, ...])
_FILE = "alarms.json"


def read_told(folder: Path) -> tuple[Alarm, ...]:
    """None told also where the file is of an older version of Millrace."""
    text = read_text(folder / _FILE)
    try:
        return _ALARMS.validate_json(text) if text else ()
    except ValidationError:
        return ()


def remember_told(folder: Path, alarms: tuple[Alarm, ...]) -> None:
    write_atomic(folder / _FILE, _ALARMS.dump_json(alarms, indent=2).decode())
