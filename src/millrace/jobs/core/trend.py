"""How a job goes on, from look to look: what a single heartbeat cannot say."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from pydantic import Field

from millrace.base.model import Frozen
from millrace.jobs.core.heartbeat import Heartbeat, InputBeat

_SAMPLE_EVERY = timedelta(seconds=10)
_SAMPLES = 7


class InputTrend(Frozen):
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
    # By the input's name.
    inputs: Mapping[str, InputTrend] = Field(default_factory=dict)
    # The lag of the last minute, in seconds, oldest first.
    lags: tuple[tuple[datetime, float], ...] = ()

    def stuck(self, now: datetime, after: timedelta) -> tuple[str, ...]:
        return tuple(name for name, one in self.inputs.items() if now - one.moved_at > after)

    def silent(self, now: datetime, after: timedelta) -> tuple[str, ...]:
        return tuple(name for name, one in self.inputs.items() if now - one.heard_at > after)

    def away(self, now: datetime, after: timedelta) -> tuple[str, ...]:
        return tuple(name for name, one in self.inputs.items() if now - one.answered_at > after)

    def halts(self) -> dict[str, str]:
        return {name: one.halted for name, one in self.inputs.items() if one.halted}

    def is_rising(self, lag_s: float) -> bool:
        """Over a minute; until one is seen nobody knows."""
        return len(self.lags) == _SAMPLES and lag_s > self.lags[0][1]


def follow(before: Trend | None, beat: Heartbeat, now: datetime) -> Trend:
    """A new generation begins anew."""
    known = before if before and before.generation == beat.generation else None
    inputs = known.inputs if known else {}
    return Trend(
        generation=beat.generation,
        inputs={one.name: _follow_input(inputs.get(one.name), one, now) for one in beat.inputs},
        lags=_follow_lag(known.lags if known else (), beat.lag_s(now), now),
    )


def _follow_input(before: InputTrend | None, one: InputBeat, now: datetime) -> InputTrend:
    if before is None:
        return InputTrend(
            position=one.position,
            end=one.end,
            moved_at=now,
            heard_at=now,
            answered_at=now,
            halted=one.halted,
        )
    has_moved = one.position != before.position or not one.lag_records
    has_moved = has_moved or bool(one.halted) or not one.reachable
    return InputTrend(
        position=one.position,
        end=one.end,
        moved_at=now if has_moved else before.moved_at,
        heard_at=now if one.end != before.end else before.heard_at,
        answered_at=now if one.reachable else before.answered_at,
        halted=one.halted,
    )


def _follow_lag(
    lags: tuple[tuple[datetime, float], ...], lag_s: float, now: datetime
) -> tuple[tuple[datetime, float], ...]:
    if lags and now - lags[-1][0] < _SAMPLE_EVERY:
        return lags
    return (*lags, (now, lag_s))[-_SAMPLES:]
