"""What a power cut could take, from a record of what was written and synced in which order.

The law: before a file gets the name by which others read it, it is synced; after that, its folder
is. A version of a table names data files, so these and their folders come first of all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

WRITE, SYNC = "jdk.FileWrite", "jdk.FileForce"
# Written aside under such a name, and then linked or renamed to the name in it.
_DRAFT = re.compile(r"\.(?P<name>.+)\.[0-9a-f-]{36}\.(?:TID\w+\.)?tmp")


class Step(NamedTuple):
    begun: int
    ended: int
    kind: str
    path: Path


class Steps(list[Step]):
    """In the order in which they began."""

    def written(self, file: Path) -> tuple[int, int]:
        """When a file's first byte was begun, and when its last was written."""
        its = [step for step in self if (step.kind, step.path) == (WRITE, file)]
        assert its, f"nobody wrote {file} while the recorder ran"
        return its[0].begun, its[-1].ended

    def synced(self, place: Path, since: int, until: int) -> int | None:
        """When the first sync of it ended that lies between these moments."""
        its = (step for step in self if (step.kind, step.path) == (SYNC, place))
        ends = (step.ended for step in its if since <= step.begun and step.ended <= until)
        return min(ends, default=None)

    def drafts(self, folder: Path) -> list[Path]:
        """Delta's checksums are made up for where they are missing or broken."""
        paths = dict.fromkeys(s.path for s in self if s.kind == WRITE and folder in s.path.parents)
        return [p for p in paths if _DRAFT.fullmatch(p.name) and ".crc." not in p.name]

    def unsafe(self, folder: Path) -> list[str]:
        """What a power cut could take from files below a folder that were given their names."""
        return [told for draft in self.drafts(folder) for told in self._unsafe(draft)]

    def _unsafe(self, draft: Path) -> Iterator[str]:
        begun, written = self.written(draft)
        safe = self.synced(draft, written, _EVER)
        if safe is None:
            yield f"the bytes of {draft}"
        if self.synced(draft.parent, safe or written, _EVER) is None:
            yield f"the name of {draft}"
        for file, table in named_by(draft):
            _, done = self.written(file)
            if self.synced(file, done, begun) is None:
                yield f"the bytes of {file}"
            for one in [table, *(one for one in file.parents if table in one.parents)]:
                if self.synced(one, done, begun) is None:
                    yield f"names in {one}"


_EVER = 1 << 63


def named_by(draft: Path) -> Iterator[tuple[Path, Path]]:
    """The data files that a version names, and their table."""
    found = _DRAFT.fullmatch(draft.name)
    version = draft.with_name(found["name"]) if found else draft
    if not re.fullmatch(r"\d{20}\.json", version.name):
        return
    for line in version.read_text().splitlines():
        action = json.loads(line)
        if file := action.get("add") or action.get("cdc"):
            table = version.parent.parent
            yield table / file["path"], table
            if file.get("deletionVector"):
                yield from ((vector, table) for vector in table.glob("deletion_vector_*.bin"))
