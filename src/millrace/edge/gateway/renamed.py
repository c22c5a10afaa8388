"""Messages that are sent in another epoch than the one they were kept in."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter

from millrace.core.gateway.records import Record
from millrace.state.files import read_text, sync_folder, write_atomic

# By the epoch that is not theirs alone: the first message that has another one, and that epoch.
_Epochs = TypeAdapter(dict[int, tuple[int, int]])


class Renamed:
    """In a file, so that what was sent under its new name is known by it after a kill."""

    def __init__(self, file: Path) -> None:
        self._file = file
        text = read_text(file)
        self._epochs = _Epochs.validate_json(text) if text else {}

    def __bool__(self) -> bool:
        return bool(self._epochs)

    def add(self, first: Record, epoch: int) -> None:
        """On disk when it returns."""
        self._epochs = {**self._epochs, first.epoch: (first.serial, epoch)}
        write_atomic(self._file, _Epochs.dump_json(self._epochs))
        sync_folder(self._file.parent)

    def apply(self, record: Record) -> Record:
        while renamed := self._epochs.get(record.epoch):
            first, epoch = renamed
            if record.serial < first:
                break
            record = record._replace(epoch=epoch)
        return record
