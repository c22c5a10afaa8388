"""What a spool has after whatever happened: its files, its ledger, and what is damaged."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from pathlib import Path

from millrace.gateway.spool.core.ledger import Heading, MessageLedger
from millrace.gateway.spool.core.segments import (
    HEAD_BYTES,
    SUFFIX,
    Hole,
    Tail,
    decode_heading,
    file_name,
    find_tail,
    heading_bytes,
    read_records,
)
from millrace.gateway.spool.io.disk import zero_from

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Recovered:
    ledger: MessageLedger
    # First indexes of the segments there are, the eldest first.
    segments: list[int]
    # Where the newest ends; none: there is none.
    tail: Tail | None


def look(folder: Path) -> range:
    """The messages that a spool holds, by their indexes. Nothing is opened for writing or mended,
    so this may be done beside whoever writes, and where nobody can write."""
    while segments := _segments_of(folder):
        try:
            data = (folder / file_name(segments[-1])).read_bytes()
        except FileNotFoundError:
            continue  # delivered and removed a moment ago; there is a newer one
        return range(segments[0], _end_of(data, segments[-1]))
    return range(0)


def _segments_of(folder: Path) -> list[int]:
    return sorted(int(file.stem) for file in folder.glob(f"*{SUFFIX}"))


def _end_of(data: bytes, first: int) -> int:
    begin = heading_bytes(data)
    end = find_tail(data, begin, first).end
    kept = [found[0] for found in read_records(data[:end], begin) if not isinstance(found, Hole)]
    return kept[-1].serial + 1 if kept else first


def read_heading(file: Path) -> Heading | None:
    """None: it is damaged, or gone."""
    try:
        with file.open("rb") as segment:
            head = segment.read(HEAD_BYTES)
            return decode_heading(head + segment.read(heading_bytes(head)))
    except FileNotFoundError:
        return None


def recover(folder: Path, *, waits_for_missing: bool = True) -> Recovered:
    """The folder is as it should be when it returns; so it is its caller's alone."""
    for draft in folder.glob("*.new"):
        draft.unlink()
    segments = _segments_of(folder)
    if not segments:
        empty = MessageLedger(Heading(epoch=0), waits_for_missing=waits_for_missing)
        return Recovered(empty, [], None)
    ledger = _ledger(folder, segments, waits_for_missing=waits_for_missing)
    return Recovered(ledger, segments, _cut_tail(folder, segments[-1], ledger))


def _ledger(folder: Path, segments: list[int], *, waits_for_missing: bool) -> MessageLedger:
    """From the newest heading that can be read; what came after it is counted again."""
    heading, since = None, segments[-1]
    for since in reversed(segments):
        heading = decode_heading((folder / file_name(since)).read_bytes())
        if heading:
            break
        log.error(
            "%s: its heading is damaged; numbers are taken from an older file",
            folder / file_name(since),
        )
    heading = heading or Heading(epoch=0, next_index=segments[0])
    ledger = MessageLedger(heading, waits_for_missing=waits_for_missing)
    for first in segments:
        # The newest is taken over when its tail is known.
        if since <= first < segments[-1]:
            _take_over(ledger, (folder / file_name(first)).read_bytes(), None)
    return ledger


def _cut_tail(folder: Path, first: int, ledger: MessageLedger) -> Tail:
    file = folder / file_name(first)
    data = file.read_bytes()
    tail = find_tail(data, heading_bytes(data), first)
    if tail.is_torn:
        log.warning("%s: a write was cut short at byte %s; forgotten", file, tail.end)
        handle = os.open(file, os.O_RDWR)
        try:
            zero_from(handle, tail.end, len(data))
        finally:
            os.close(handle)
    _take_over(ledger, data, tail.end)
    return tail


def _take_over(ledger: MessageLedger, data: bytes, end: int | None) -> None:
    for found in read_records(data[:end], heading_bytes(data)):
        if not isinstance(found, Hole):
            ledger.take_over(found[0])
