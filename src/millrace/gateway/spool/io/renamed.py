"""Messages that are sent in another epoch than the one they were kept in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import TypeAdapter

from millrace.gateway.spool.core.records import Record
from millrace.storage.io.files import read_text, sync_folder, write_atomic

# By the epoch that is not theirs alone: the first message that has another one, and that epoch.
Epochs = Mapping[int, tuple[int, int]]
_Epochs = TypeAdapter(dict[int, tuple[int, int]])


class Renamed:
    """Kept, so that what was sent under its new name is known by it after a kill."""

    def __init__(self, epochs: Epochs, keep: Callable[[Epochs], None]) -> None:
        """`keep`: they outlive the process when it returns."""
        self._epochs = epochs
        self._keep = keep

    def __bool__(self) -> bool:
        return bool(self._epochs)

    @property
    def newest(self) -> int:
        """The epoch of the last that were named anew; 0: none ever was."""
        return max((epoch for _, epoch in self._epochs.values()), default=0)

    def add(self, first: Record, epoch: int) -> None:
        self._epochs = {**self._epochs, first.epoch: (first.serial, epoch)}
        self._keep(self._epochs)

    def apply(self, record: Record) -> Record:
        while renamed := self._epochs.get(record.epoch):
            first, epoch = renamed
            if record.serial < first:
                break
            record = record._replace(epoch=epoch)
        return record


def renamed_in(file: Path) -> Renamed:
    text = read_text(file)

    def keep(epochs: Epochs) -> None:
        write_atomic(file, _Epochs.dump_json(dict(epochs)))
        sync_folder(file.parent)

    return Renamed(_Epochs.validate_json(text) if text else {}, keep)
