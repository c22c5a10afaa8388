"""Which incarnations of its topics a query has read, kept with its checkpoint."""

from __future__ import annotations

from dataclasses import dataclass

from millrace.base.errors import MillraceError
from millrace.kafka.core.incarnations import Histories
from millrace.storage.io.objects import Objects

_NAME = "topics.json"


class NoHistoriesError(MillraceError):
    def __init__(self) -> None:
        super().__init__(
            f"the checkpoint has batches and no file {_NAME}, which a job writes before its first"
            " batch, so nobody knows which topics its positions are of. Put the file back, or"
            " remove the site's checkpoint: the job then goes on behind what bronze has"
        )


@dataclass(frozen=True)
class HistoryFile:
    files: Objects

    def read(self) -> Histories | None:
        """None before the query's first start."""
        text = self.files.read(_NAME)
        return Histories.model_validate_json(text) if text else None

    def put(self, histories: Histories) -> None:
        self.files.put(_NAME, histories.model_dump_json())
