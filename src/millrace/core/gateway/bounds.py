"""What a spool may hold, and what happens to a message when it holds that."""

from __future__ import annotations

from enum import StrEnum

from millrace.core.model import Frozen


class AtBound(StrEnum):
    BLOCK = "block"  # whoever sends waits
    REFUSE = "refuse"  # whoever sends is told
    DROP_OLDEST = "drop_oldest"  # what was kept longest and is not delivered goes


class Bounds(Frozen):
    segment_bytes: int
    total_bytes: int
    # None: messages may wait for ever.
    age_ms: int | None = None


class Fill(Frozen):
    """How full a spool is: its segments, and the time of the oldest message that waits in it."""

    segments: int
    oldest_ms: int | None = None


def is_full(bounds: Bounds, fill: Fill) -> bool:
    """Whether another segment would be too much."""
    return (fill.segments + 1) * bounds.segment_bytes > bounds.total_bytes


def is_too_old(bounds: Bounds, fill: Fill, now_ms: int) -> bool:
    if bounds.age_ms is None or fill.oldest_ms is None:
        return False
    return fill.oldest_ms < now_ms - bounds.age_ms
