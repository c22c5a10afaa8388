"""What the desk of commands remembers, in one file that is whole at any moment."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from millrace.base.errors import MillraceError
from millrace.gateway.commands.core.command_states import Memory
from millrace.storage.io.files import read_text, sync_folder, write_atomic


class MemoryFile:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._last = self._read()

    def read(self) -> Memory:
        return self._last

    def write(self, memory: Memory) -> None:
        """On disk when it returns."""
        if memory == self._last:
            return
        write_atomic(self._file, memory.model_dump_json())
        sync_folder(self._file.parent)
        self._last = memory

    def _read(self) -> Memory:
        text = read_text(self._file)
        try:
            return Memory.model_validate_json(text) if text else Memory()
        except ValidationError as error:
            raise MillraceError(
                f"{self._file}: it is damaged: {error.errors()[0]['msg']}; without it the gateway"
                " does not know which commands were sent: move it away, and the gateway begins"
                " with those that come from now on"
            ) from error
