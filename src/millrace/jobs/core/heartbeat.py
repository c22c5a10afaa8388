"""A heartbeat: what a job says of itself, a few times a minute; all that supervision sees."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from pydantic import BaseModel, ConfigDict

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


class InputBeat(Protocol):
    """What supervision follows of each thing that a job reads: a site, say."""

    @property
    def name(self) -> str: ...

    @property
    def position(self) -> int: ...

    @property
    def end(self) -> int: ...

    @property
    def reachable(self) -> bool:
        """False while its broker does not answer."""

    @property
    def halted(self) -> str:
        """Why it was halted while the others go on; empty while it is not."""

    @property
    def lag_records(self) -> int: ...

    def lag_s(self, now: datetime) -> float:
        """Age of the oldest message that waits."""


class Heartbeat(BaseModel):
    """What every job says of itself; written by atomic replace, so no reader sees half of it.

    Each kind adds fields of its own, and answers by them what is asked below of all kinds. Read as
    this class, a heartbeat tells what is common, whatever its kind.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    job: str
    generation: int
    fingerprint: str
    phase: Phase
    at: datetime
    error: str = ""

    @property
    def inputs(self) -> tuple[InputBeat, ...]:
        """What it reads; none, where a kind reads nothing that could wait."""
        return ()

    @property
    def worked_at(self) -> datetime | None:
        """When it last finished a piece of work; it may have been a former generation."""
        return None

    @property
    def rows_per_s(self) -> float:
        return 0.0

    @property
    def refused(self) -> int:
        """Since the job began."""
        return 0

    @property
    def made_anew(self) -> tuple[tuple[str, MadeAnew], ...]:
        """Topics that were deleted and made again, each with its site."""
        return ()

    @property
    def going(self) -> tuple[InputBeat, ...]:
        """The inputs that are read, which say how fresh the job is; all, where none is read.

        What waits at a halted input waits for a person, however well the job works.
        """
        return tuple(one for one in self.inputs if not one.halted) or self.inputs

    @property
    def lag_records(self) -> int:
        return sum(one.lag_records for one in self.going)

    def lag_s(self, now: datetime) -> float:
        return max((one.lag_s(now) for one in self.going), default=0.0)

    @property
    def halts(self) -> dict[str, str]:
        """The inputs that wait for a person, and why; the others go on."""
        return {one.name: one.halted for one in self.inputs if one.halted}

    def measures(self, now: datetime) -> dict[str, float]:
        """What a service that raises alarms is told each minute.

        How long the oldest message waits, and while any does, how old the last piece of work is. A
        halted input counts for itself: its messages wait until a person has mended something there.
        """
        waits = self.lag_records > 0 and self.worked_at is not None
        worked_at = self.worked_at or now
        return {
            "lag_s": self.lag_s(now),
            "batch_age_s": max(0.0, (now - worked_at).total_seconds()) if waits else 0.0,
            "halted_sites": float(len(self.halts)),
        }

    def progress(self, now: datetime) -> str:
        """How it goes on, in a line of a log."""
        return (
            f"rows_per_s={self.rows_per_s:.1f} lag_records={self.lag_records}"
            f" lag_s={self.lag_s(now):.1f}"
        )

    def figures(self) -> dict[str, str]:
        """What its kind shows of it, on pages and in `millrace status`, beside what is common."""
        return {}

    def reads(self, site: str, now: datetime) -> bool:
        """Whether a living job said so a moment ago."""
        is_alive = self.phase in _ALIVE and now - self.at < _SILENT_AFTER
        return is_alive and any(one.name == site for one in self.inputs)

    def age_s(self, now: datetime) -> float:
        return max(0.0, (now - self.at).total_seconds())
