"""What a relay says of itself, twice a second; all that anybody sees of it."""

from __future__ import annotations

from datetime import datetime, timedelta

from millrace.base.model import Frozen
from millrace.jobs.core.heartbeat import PartitionLag
from millrace.relay.core.relay_plan import Halt
from millrace.relay.core.start import Renewal

_SILENT_AFTER = timedelta(seconds=30)


class SourceBeat(Frozen):
    """One site. `trouble`: why nothing comes from it; empty while all is well."""

    site: str
    trouble: str
    partitions: tuple[PartitionLag, ...]

    @property
    def lag_records(self) -> int:
        return sum(part.records for part in self.partitions)


class RelayBeat(Frozen):
    relay: str
    at: datetime
    began: datetime
    # Since the relay began.
    messages: int = 0
    transactions: int = 0
    messages_per_s: float = 0.0
    last_commit_at: datetime | None = None
    # Why nothing gets to the target; empty while all is well.
    trouble: str = ""
    sites: tuple[SourceBeat, ...] = ()
    halts: tuple[Halt, ...] = ()
    # Topics that were made anew since the relay began.
    renewals: tuple[Renewal, ...] = ()

    @property
    def lag_records(self) -> int:
        return sum(site.lag_records for site in self.sites)

    def state(self, now: datetime, *, runs: bool) -> str:
        """In a word; `runs` is what is known of its process."""
        if not runs:
            return "down"
        if now - self.at > _SILENT_AFTER:
            return "silent"
        if self.halts:
            return "halted"
        away = self.trouble or any(site.trouble for site in self.sites)
        return "waiting" if away else "running"

    def notes(self) -> tuple[str, ...]:
        """What a person should know, a line each."""
        troubles = (self.trouble, *(site.trouble for site in self.sites))
        halts = (f"{halt.text}; {halt.way_out(self.relay)}" for halt in self.halts)
        return (*filter(None, troubles), *halts, *(one.text for one in self.renewals))
