"""Incidents as they were gathered, and their pages: a folder for each."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from millrace.incidents.core.incident import Incident, forgotten
from millrace.storage.io.files import read_text, write_atomic

_INCIDENT, _PAGE = "incident.json", "page.html"


class Incidents:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def all(self) -> list[Incident]:
        """The oldest first; without those of an older version of Millrace."""
        return list(self.newest_first())[::-1]

    def newest_first(self) -> Iterator[Incident]:
        """Reads no more of them than are taken."""
        found = (self.read(name) for name in sorted(self._ids(), reverse=True))
        return (one for one in found if one)

    def read(self, incident_id: str) -> Incident | None:
        text = read_text(self._folder / incident_id / _INCIDENT)
        try:
            return Incident.model_validate_json(text) if text else None
        except ValidationError:
            return None

    def write(self, incident: Incident) -> None:
        write_atomic(self._folder / incident.id / _INCIDENT, incident.model_dump_json(indent=2))

    def page(self, incident_id: str) -> str | None:
        return read_text(self._folder / incident_id / _PAGE)

    def write_page(self, incident_id: str, html: str) -> None:
        write_atomic(self._folder / incident_id / _PAGE, html)

    def forget_oldest(self) -> None:
        for old in forgotten(self._ids()):
            shutil.rmtree(self._folder / old, ignore_errors=True)

    def _ids(self) -> list[str]:
        return [folder.name for folder in self._folder.glob("*/")]
