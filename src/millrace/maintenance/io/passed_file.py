"""How far the days of a pipeline's tables were let go, a file for each layer."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError

from millrace.maintenance.core.retention import Passed
from millrace.storage.io.objects import Objects


@dataclass(frozen=True)
class PassedFile:
    """`files`: where a pipeline's job and its watchers talk, which workers share."""

    files: Objects
    layer: str

    def read(self) -> Passed | None:
        """None also for what nobody can read: then the oldest day is where one begins."""
        text = self.files.read(self._name)
        try:
            return Passed.model_validate_json(text) if text else None
        except ValidationError:
            return None

    def put(self, passed: Passed) -> None:
        if passed != self.read():
            self.files.put(self._name, passed.model_dump_json())

    @property
    def _name(self) -> str:
        return f"retention-{self.layer}.json"
