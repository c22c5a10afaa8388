"""Messages that are sent in another epoch than the one they were kept in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import TypeAdapter

from millrace.gateway.spool.core.records import Record
from millrace.storage.io.files import read_text, sync_folder, write_atomic

# By the epoch that is not theirs alone: the epoch that they have instead, by the first of them; it
# is that of all behind it, up to the next that is named here.
Epochs = Mapping[int, Mapping[int, int]]
_Epochs: TypeAdapter[Epochs] = TypeAdapter(Epochs)


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
        return max((epoch for anew in self._epochs.values() for epoch in anew.values()), default=0)

    def add(self, first: Record, epoch: int) -> None:
        """Messages that were named anew before keep their names: they may be in a copy."""
        anew = {**self._epochs.get(first.epoch, {}), first.serial: epoch}
        epochs = {**self._epochs, first.epoch: anew}
        self._keep(epochs)
        self._epochs = epochs

    def apply(self, record: Record) -> Record:
        while anew := self._epochs.get(record.epoch):
            first = max((serial for serial in anew if serial <= record.serial), default=None)
            if first is None:
                break
            record = record._replace(epoch=anew[first])
        return record


def renamed_in(file: Path) -> Renamed:
    text = read_text(file)

    def keep(epochs: Epochs) -> None:
        write_atomic(file, _Epochs.dump_json(epochs))
        sync_folder(file.parent)

    return Renamed(_Epochs.validate_json(text) if text else {}, keep)
