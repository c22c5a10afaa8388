"""What a streaming query's checkpoint says: its identity, and how far it has come."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

from millrace.ingest.core.ends import Ends, ends_at
from millrace.ingest.core.lag import Partition, parse_offsets
from millrace.ingest.core.moves import Kept
from millrace.ingest.io.incarnations_file import HistoryFile, NoHistoriesError
from millrace.kafka.core.incarnations import Histories
from millrace.storage.core.bucket import Bucket
from millrace.storage.io.objects import objects_at

_NONE = -1
# Where Spark keeps the offsets with which a query begins.
_BEGINNING = "sources/0"


class Checkpoint:
    """Reads the files that Spark keeps.

    Writes only the empty batch of a move (ingest/core/moves.py), while no query runs.
    """

    def __init__(self, place: str | Path, bucket: Bucket | None = None) -> None:
        self._files = objects_at(place, bucket)
        self.history_file = HistoryFile(self._files)

    def query_id(self) -> str:
        """Given once to a checkpoint; a new checkpoint is a new writer."""
        text = self._files.read("metadata")
        if text is None:
            raise FileNotFoundError("the checkpoint has no metadata yet")
        query: dict[str, str] = json.loads(text)
        return query["id"]

    def last_commit(self) -> int:
        """The newest finished batch; -1 before the first."""
        return self._newest("commits")

    def committed_at(self, batch: int) -> datetime | None:
        return self._files.modified_at(f"commits/{batch}")

    def last_planned(self) -> int:
        """The newest batch whose offsets are fixed; it may not have begun."""
        return self._newest("offsets")

    def offsets(self, batch: int) -> dict[Partition, int]:
        """Where a batch ends, and for -1 where the first begins; empty where that is not known."""
        name, line = ("sources/0/0", 1) if batch < 0 else (f"offsets/{batch}", 2)
        text = self._files.read(name)
        # A version, in a batch's file its metadata, then one line for each source.
        return parse_offsets(text.splitlines()[line]) if text else {}

    def histories(self) -> Histories:
        """Nothing before the query's first start."""
        found = self.history_file.read()
        if found is None and self.last_planned() >= 0:
            raise NoHistoriesError
        return found or Histories()

    def ends(self) -> Ends:
        """Up to where all tables are written; nothing before the first batch has gone through."""
        batch = self.last_commit()
        return ends_at(batch, self.offsets(batch), self.histories())

    def kept(self) -> Kept:
        """What a move looks at."""
        planned, committed = self.last_planned(), self.last_commit()
        return Kept(
            histories=self.histories(),
            planned=planned,
            committed=committed,
            positions=self.offsets(committed),
            offsets=self._files.read(f"offsets/{planned}") or "",
            commit=self._files.read(f"commits/{committed}") or "",
            has_beginning=bool(self._files.names(_BEGINNING)),
        )

    def put_offsets(self, batch: int, text: str) -> None:
        self._files.put(f"offsets/{batch}", text)

    def put_commit(self, batch: int, text: str) -> None:
        self._files.put(f"commits/{batch}", text)

    def drop_beginning(self) -> None:
        self._files.delete([f"{_BEGINNING}/{name}" for name in self._files.names(_BEGINNING)])

    def _newest(self, folder: str) -> int:
        names = self._files.names(folder)
        return max((int(name) for name in names if name.isdigit()), default=_NONE)
