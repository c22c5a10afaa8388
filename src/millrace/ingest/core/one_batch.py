"""One batch into bronze, silver and quarantine, once: what is done, in which order, by what sign.

Two ways lead through a batch. The usual one reads and judges it once, into files of all tables,
and then tells each table of its own, bronze first. Where bronze holds the batch already, because
a crash came between, what bronze has is judged again: silver takes it unless it has the batch,
and quarantine takes all that silver did not. Both begin with what was seen before the batch, and
end with keeping what was seen with it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from millrace.ingest.core.duplicates import Seen


class Layer(StrEnum):
    BRONZE = "bronze"
    SILVER = "silver"
    QUARANTINE = "quarantine"


class Files(Protocol):
    """What a batch was written into, and no table knows of yet."""

    def are_at_odds(self) -> bool:
        """Whether two tasks took the same message of a sender for the first."""

    def has_rows(self, layer: Layer) -> bool: ...

    def commit(self, layer: Layer) -> None:
        """Fails where the table holds the batch."""

    def seen(self) -> Seen:
        """What was seen before the batch, and in it."""

    def are_readable(self) -> None:
        """All tables have theirs: what was found in them is counted, and how long they took."""


class Work(Protocol):
    """A batch, and what can be done with it."""

    def is_in_bronze(self) -> bool: ...

    def append_raw(self) -> None:
        """Into bronze alone; nothing where bronze holds the batch."""

    def before(self) -> Seen:
        """The same however often it is asked, also after the batch is in tables."""

    def write(self, before: Seen, *, in_order: bool = False) -> Files:
        """`in_order`: all by one task, partition by partition."""

    def append_accepted(self, before: Seen) -> None:
        """Of the rows that bronze has; nothing where silver holds the batch."""

    def append_left_over(self, before: Seen) -> None:
        """Rows of bronze that silver has not; nothing where quarantine holds the batch."""

    def seen_in_bronze(self, before: Seen) -> Seen:
        """What was seen before the batch, and in its rows in bronze."""

    def keep(self, seen: Seen) -> None:
        """For the next batch, and over restarts."""

    def is_readable(self, before: Seen) -> None:
        """All tables have it: what was found in its rows in bronze is counted."""


def carry(work: Work, *, apart: bool = False) -> None:
    """Through all tables; a crash anywhere, and the same again, ends in the same tables.

    `apart`: table after table, by a writer that knows of one table only.
    """
    before = work.before()
    if apart:
        work.append_raw()
    if apart or work.is_in_bronze():
        work.append_accepted(before)
        work.append_left_over(before)
        work.is_readable(before)
        work.keep(work.seen_in_bronze(before))
        return
    files = work.write(before)
    if files.are_at_odds():
        files = work.write(before, in_order=True)
    files.commit(Layer.BRONZE)
    files.commit(Layer.SILVER)
    # A commit without rows would be one for nothing; nobody asks quarantine for the batch.
    if files.has_rows(Layer.QUARANTINE):
        files.commit(Layer.QUARANTINE)
    files.are_readable()
    work.keep(files.seen())
