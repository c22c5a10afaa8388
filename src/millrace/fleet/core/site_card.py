"""What the Fleet page shows of a site: who reads it, as whom, and how long its papers are good."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from millrace.base.model import Frozen
from millrace.ingest.core.ingest_beat import IngestBeat
from millrace.sites.core.spec import SiteSpec


class ReadingPipeline(Frozen):
    """A pipeline that reads the site, by its last heartbeat."""

    pipeline: str
    reachable: bool
    # Why the pipeline's job halted the site; empty while it reads.
    halted: str
    seen_at: datetime
    last_batch_at: datetime | None
    waiting: int
    # Age of the oldest message that waits, as the heartbeat says.
    behind_s: float


class SitePage(Frozen):
    name: str
    bootstrap: str
    description: str
    # "answers", "away", or "unknown" where no job reads it.
    connection: str
    # When a job last heard of it.
    seen_at: datetime | None
    readers: tuple[ReadingPipeline, ...]
    users: tuple[str, ...]
    # Until when the certificates that were made here are good.
    certificates: dict[str, datetime]


def make_site_page(
    spec: SiteSpec,
    beats: Mapping[str, IngestBeat],
    users: tuple[str, ...],
    certificates: dict[str, datetime],
) -> SitePage:
    readers = tuple(
        ReadingPipeline(
            pipeline=pipeline,
            reachable=site.reachable,
            halted=site.halted,
            seen_at=beat.at,
            last_batch_at=site.last_batch_at,
            waiting=site.lag_records,
            behind_s=round(site.lag_s(beat.at), 1),
        )
        for pipeline, beat in sorted(beats.items())
        for site in beat.sites
        if site.site == spec.name
    )
    return SitePage(
        name=spec.name,
        bootstrap=spec.bootstrap,
        description=spec.description,
        connection=_connection(readers),
        seen_at=max((one.seen_at for one in readers if one.reachable), default=None),
        readers=readers,
        users=users,
        certificates=certificates,
    )


def _connection(readers: tuple[ReadingPipeline, ...]) -> str:
    """By whoever looked last: a job that was stopped long ago knows nothing of today."""
    if not readers:
        return "unknown"
    return "answers" if max(readers, key=lambda one: one.seen_at).reachable else "away"
