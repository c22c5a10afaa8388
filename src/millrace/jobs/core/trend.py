"""How a job goes on, from look to look: what a single heartbeat cannot say."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from pydantic import Field

from millrace.base.model import Frozen
from millrace.jobs.core.heartbeat import Heartbeat, SiteBeat

_SAMPLE_EVERY = timedelta(seconds=10)
_SAMPLES = 7


class SiteTrend(Frozen):
    position: int
    end: int
    # When it last read on, or had nothing to read, or was halted, or its broker was away.
    moved_at: datetime
    # When its broker last had something new.
    heard_at: datetime
    # When its broker last answered.
    answered_at: datetime
    # Why it was halted; empty while it is not.
    halted: str = ""


class Trend(Frozen):
    generation: int
    sites: Mapping[str, SiteTrend] = Field(default_factory=dict)
    # The lag of the last minute, in seconds, oldest first.
    lags: tuple[tuple[datetime, float], ...] = ()

    def stuck_sites(self, now: datetime, after: timedelta) -> tuple[str, ...]:
        return tuple(name for name, site in self.sites.items() if now - site.moved_at > after)

    def silent_sites(self, now: datetime, after: timedelta) -> tuple[str, ...]:
        return tuple(name for name, site in self.sites.items() if now - site.heard_at > after)

    def away_sites(self, now: datetime, after: timedelta) -> tuple[str, ...]:
        return tuple(name for name, site in self.sites.items() if now - site.answered_at > after)

    def halts(self) -> dict[str, str]:
        return {name: site.halted for name, site in self.sites.items() if site.halted}

    def is_rising(self, lag_s: float) -> bool:
        """Over a minute; until one is seen nobody knows."""
        return len(self.lags) == _SAMPLES and lag_s > self.lags[0][1]


def follow(before: Trend | None, beat: Heartbeat, now: datetime) -> Trend:
    """A new generation begins anew."""
    known = before if before and before.generation == beat.generation else None
    sites = known.sites if known else {}
    return Trend(
        generation=beat.generation,
        sites={site.site: _follow_site(sites.get(site.site), site, now) for site in beat.sites},
        lags=_follow_lag(known.lags if known else (), beat.lag_s(now), now),
    )


def _follow_site(before: SiteTrend | None, site: SiteBeat, now: datetime) -> SiteTrend:
    position = sum(part.position for part in site.partitions)
    end = sum(part.end for part in site.partitions)
    if before is None:
        return SiteTrend(
            position=position,
            end=end,
            moved_at=now,
            heard_at=now,
            answered_at=now,
            halted=site.halted,
        )
    has_moved = position != before.position or not site.lag_records
    has_moved = has_moved or bool(site.halted) or not site.reachable
    return SiteTrend(
        position=position,
        end=end,
        moved_at=now if has_moved else before.moved_at,
        heard_at=now if end != before.end else before.heard_at,
        answered_at=now if site.reachable else before.answered_at,
        halted=site.halted,
    )


def _follow_lag(
    lags: tuple[tuple[datetime, float], ...], lag_s: float, now: datetime
) -> tuple[tuple[datetime, float], ...]:
    if lags and now - lags[-1][0] < _SAMPLE_EVERY:
        return lags
    return (*lags, (now, lag_s))[-_SAMPLES:]
