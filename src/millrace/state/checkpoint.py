"""What a streaming query's checkpoint says: its identity, and how far it has come."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from millrace.core.lag import Partition, parse_offsets

_NONE = -1


class Checkpoint:
    """Reads the files that Spark keeps; never writes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def query_id(self) -> str:
        """Given once to a checkpoint; a new checkpoint is a new writer."""
        query: dict[str, str] = json.loads((self.folder / "metadata").read_text())
        return query["id"]

    def last_commit(self) -> int:
        """The newest finished batch; -1 before the first."""
        return _newest(self.folder / "commits")

    def committed_at(self, batch: int) -> datetime | None:
        try:
            seconds = (self.folder / "commits" / str(batch)).stat().st_mtime
        except FileNotFoundError:
            return None
        return datetime.fromtimestamp(seconds, UTC)

    def last_planned(self) -> int:
        """The newest batch whose offsets are fixed; it may not have begun."""
        return _newest(self.folder / "offsets")

    def offsets(self, batch: int) -> dict[Partition, int]:
        """Where a batch ends; empty where the checkpoint does not know that batch."""
        try:
            lines = (self.folder / "offsets" / str(batch)).read_text().splitlines()
        except FileNotFoundError:
            return {}
        # A version, the batch's metadata, then one line for each source.
        return parse_offsets(lines[2])


def _newest(folder: Path) -> int:
    if not folder.is_dir():
        return _NONE
    return max((int(file.name) for file in folder.iterdir() if file.name.isdigit()), default=_NONE)
