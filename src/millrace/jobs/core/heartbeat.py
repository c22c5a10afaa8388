"""A heartbeat: what a job says of itself, a few times a minute; all that supervision sees."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from pydantic import Field

from millrace.base.model import Frozen


class Phase(StrEnum):
    """Where in its life a job is."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FENCED = "fenced"  # a newer generation took over
    FAILED = "failed"


_ALIVE = {Phase.STARTING, Phase.RUNNING, Phase.STOPPING}
# A living job beats every second or two; every ten, where its mailbox is in a bucket.
_SILENT_AFTER = timedelta(seconds=30)
# On a busy machine a JVM takes minutes to start, and its job has no main loop meanwhile.
START_PATIENCE = timedelta(minutes=5)
_LOOP_PATIENCE = timedelta(seconds=30)


def may_beat(phase: Phase, quiet: timedelta) -> bool:
    """Whether a job whose main loop gave no sign for so long may still be at work."""
    return quiet < (START_PATIENCE if phase is Phase.STARTING else _LOOP_PATIENCE)


class PartitionLag(Frozen):
    """How far one partition is read: `position` is the next offset, `end` the broker's."""

    topic: str
    partition: int
    position: int
    end: int
    oldest_waiting: datetime | None = None
    # The broker's time of its newest record, when it was last asked for it.
    newest_at: datetime | None = None

    @property
    def records(self) -> int:
        return max(0, self.end - self.position)


class MadeAnew(Frozen):
    """A topic that was found to be another than the one that was read under its name."""

    topic: str
    topic_id: str
    found_at: datetime


class SiteBeat(Frozen):
    """One query of a job. `reachable` is False while its broker does not answer."""

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
    def lag_records(self) -> int:
        return sum(part.records for part in self.partitions)

    def lag_s(self, now: datetime) -> float:
        """Age of the oldest message not yet in the table."""
        waiting = [p.oldest_waiting for p in self.partitions if p.oldest_waiting]
        return max(0.0, (now - min(waiting)).total_seconds()) if waiting else 0.0


class Heartbeat(Frozen):
    """Written by atomic replace, so a reader never sees half of one."""

    pipeline: str
    generation: int
    fingerprint: str
    phase: Phase
    at: datetime
    sites: tuple[SiteBeat, ...] = ()
    error: str = ""

    @property
    def going(self) -> tuple[SiteBeat, ...]:
        """The sites that read, which say how fresh the job is; all sites, where none reads.

        What waits at a halted site waits for a person, however well the job works.
        """
        return tuple(site for site in self.sites if not site.halted) or self.sites

    @property
    def lag_records(self) -> int:
        return sum(site.lag_records for site in self.going)

    @property
    def refused(self) -> int:
        return sum(sum(site.refused.values()) for site in self.sites)

    @property
    def last_batch_at(self) -> datetime | None:
        """As the checkpoints remember it: it may be a former generation's."""
        return max((s.last_batch_at for s in self.sites if s.last_batch_at), default=None)

    @property
    def readable_after_s(self) -> float | None:
        """Of the site that took longest with its last batch."""
        known = [s.readable_after_s for s in self.sites if s.readable_after_s is not None]
        return max(known, default=None)

    @property
    def halts(self) -> dict[str, str]:
        """The sites that wait for a person, and why; the others go on."""
        return {site.site: site.halted for site in self.sites if site.halted}

    @property
    def rows_per_s(self) -> float:
        return sum(site.rows_per_s for site in self.sites)

    def lag_s(self, now: datetime) -> float:
        return max((site.lag_s(now) for site in self.going), default=0.0)

    def reads(self, site: str, now: datetime) -> bool:
        """Whether a living job said so a moment ago."""
        is_alive = self.phase in _ALIVE and now - self.at < _SILENT_AFTER
        return is_alive and any(one.site == site for one in self.sites)

    def age_s(self, now: datetime) -> float:
        return max(0.0, (now - self.at).total_seconds())
