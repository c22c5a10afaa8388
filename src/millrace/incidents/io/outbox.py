"""Platform events on their way: each is a file until the broker has it."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

from millrace.incidents.core.event import Event
from millrace.platform.core.platform import Platform
from millrace.storage.io.files import read_text, write_atomic

log = logging.getLogger(__name__)

# A broker may be away for long; what is older than so many events wakes nobody any more.
_KEPT = 1_000


class Outbox:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, event: Event) -> None:
        write_atomic(self._file(event.id), event.model_dump_json())
        for old in self.ids()[:-_KEPT]:
            log.warning("dropped a platform event: %s others wait after it: %s", _KEPT, old)
            self.remove(old)

    def ids(self) -> list[str]:
        """The oldest first."""
        return sorted(file.stem for file in self._folder.glob("*.json"))

    def read(self, event_id: str) -> str | None:
        """None where somebody else has removed it meanwhile."""
        return read_text(self._file(event_id))

    def remove(self, event_id: str) -> None:
        self._file(event_id).unlink(missing_ok=True)

    def _file(self, event_id: str) -> Path:
        return self._folder / f"{event_id}.json"


def tell(layout: Platform, events: Iterable[Event]) -> None:
    """Safe on disk, and no more: sending is another's work. Nothing where nobody would hear it."""
    if layout.events_site is None:
        return
    outbox = Outbox(layout.outbox)
    for event in events:
        outbox.put(event)
