"""How far a table's days were let go, kept beside the table: Delta passes over such a name."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError

from millrace.core.maintenance.retention import Passed
from millrace.state.objects import Objects

_NAME = "_retention.json"


@dataclass(frozen=True)
class PassedFile:
    """`table`: the files of the table's folder."""

    table: Objects

    def read(self) -> Passed | None:
        """None also for what nobody can read: then the oldest day is where one begins."""
        text = self.table.read(_NAME)
        try:
            return Passed.model_validate_json(text) if text else None
        except ValidationError:
            return None

    def put(self, passed: Passed) -> None:
        if passed != self.read():
            self.table.put(_NAME, passed.model_dump_json())
