"""Refused rows as a person looks at them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from millrace.base.model import Frozen

COLUMNS = ("kafka_time", "site", "topic", "partition", "offset", "stage", "reasons", "value")
_SHOWN = 200


class Refused(Frozen):
    kafka_time: datetime
    site: str
    topic: str
    partition: int
    offset: int
    stage: str
    reasons: tuple[str, ...]
    # The message's beginning: as text, or as hex where it is none.
    value: str


@dataclass(frozen=True)
class WrittenFile:
    """What a table's log tells of one of its files."""

    written_ms: int
    rows: int
    first_time: datetime


def newest_since(files: Sequence[WrittenFile], rows: int) -> datetime | None:
    """From when on to read, to see about so many of the newest rows; None: there is no row."""
    seen, since = 0, None
    for file in sorted(files, key=lambda file: file.written_ms, reverse=True):
        if seen >= rows:
            break
        seen += file.rows
        since = min(file.first_time, since) if since else file.first_time
    return since


def as_refused(row: Mapping[str, Any]) -> Refused:
    shown = {name: row[name] for name in COLUMNS if name != "value"}
    return Refused(**{**shown, "reasons": tuple(row["reasons"] or ())}, value=_text(row["value"]))


def _text(value: bytes | None) -> str:
    if value is None:
        return "(no value)"
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = value.hex(" ")
    if not text.isprintable():
        text = text.encode("unicode_escape").decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(value)} bytes)"
