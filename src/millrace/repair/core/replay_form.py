"""What a person fills in to ask for a replay, and an incident where it offers one."""

from __future__ import annotations

from millrace.base.instants import parse_instant
from millrace.base.model import Frozen
from millrace.repair.core.replay_spec import Origin, ReplayRequest


class ReplayForm(Frozen):
    """The fields of the DAG `replay`; what is empty means all of it."""

    pipeline: str
    source: Origin = "kafka"
    sites: tuple[str, ...] | None = None
    topics: tuple[str, ...] | None = None
    partitions: tuple[int, ...] | None = None
    since: str | None = None
    until: str | None = None
    first_offset: int | None = None
    last_offset: int | None = None
    dry_run: bool = False

    def request(self) -> ReplayRequest:
        """A time without a zone is UTC."""
        return ReplayRequest(
            first=self.first_offset,
            last=self.last_offset,
            since=parse_instant("since", self.since) if self.since else None,
            until=parse_instant("until", self.until) if self.until else None,
        )
