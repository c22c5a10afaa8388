"""The heartbeat of the job that reads topics: what it says of each site."""

from __future__ import annotations

from datetime import datetime

from pydantic import ConfigDict, Field

from millrace.base.model import Frozen
from millrace.jobs.core.heartbeat import Heartbeat, MadeAnew, PartitionLag


class SiteBeat(Frozen):
    """One site's query. `reachable` is False while its broker does not answer."""

    site: str
    batch: int
    rows_per_s: float
    rows_total: int
    last_batch_at: datetime | None
    reachable: bool
    partitions: tuple[PartitionLag, ...]
    # Why it was halted while the other sites go on; empty while it is not.
    halted: str = ""
    # From the broker's time of the last batch's oldest message until all tables had the batch.
    readable_after_s: float | None = None
    # Since the job began: rows in quarantine by stage, and rows against each rule.
    refused: dict[str, int] = Field(default_factory=dict)
    broken: dict[str, int] = Field(default_factory=dict)
    # The newest of its topics, as its checkpoint remembers them.
    made_anew: tuple[MadeAnew, ...] = ()

    @property
    def name(self) -> str:
        return self.site

    @property
    def position(self) -> int:
        return sum(part.position for part in self.partitions)

    @property
    def end(self) -> int:
        return sum(part.end for part in self.partitions)

    @property
    def lag_records(self) -> int:
        return sum(part.records for part in self.partitions)

    def lag_s(self, now: datetime) -> float:
        """Age of the oldest message not yet in the table."""
        waiting = [p.oldest_waiting for p in self.partitions if p.oldest_waiting]
        return max(0.0, (now - min(waiting)).total_seconds()) if waiting else 0.0


class IngestBeat(Heartbeat):
    model_config = ConfigDict(extra="forbid")

    sites: tuple[SiteBeat, ...] = ()

    @property
    def inputs(self) -> tuple[SiteBeat, ...]:
        return self.sites

    @property
    def worked_at(self) -> datetime | None:
        """As the checkpoints remember it."""
        return max((s.last_batch_at for s in self.sites if s.last_batch_at), default=None)

    @property
    def rows_per_s(self) -> float:
        return sum(site.rows_per_s for site in self.sites)

    @property
    def refused(self) -> int:
        return sum(sum(site.refused.values()) for site in self.sites)

    @property
    def made_anew(self) -> tuple[tuple[str, MadeAnew], ...]:
        return tuple((site.site, one) for site in self.sites for one in site.made_anew)

    @property
    def readable_after_s(self) -> float | None:
        """Of the site that took longest with its last batch."""
        known = [s.readable_after_s for s in self.sites if s.readable_after_s is not None]
        return max(known, default=None)
