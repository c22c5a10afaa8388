"""What a spool may hold, and what happens to a message when it holds that."""

from __future__ import annotations

from enum import StrEnum

from millrace.base.model import Frozen


class AtBound(StrEnum):
    BLOCK = "block"  # whoever sends waits
    REFUSE = "refuse"  # whoever sends is told
    DROP_OLDEST = "drop_oldest"  # what was kept longest and is not delivered goes


class SpoolBounds(Frozen):
    segment_bytes: int
    total_bytes: int
    # None: messages may wait for ever.
    age_s: float | None = None

    @property
    def heading_bytes(self) -> int:
        """What a segment may hold beside messages."""
        return self.segment_bytes // 4

    def segment_for(self, group_bytes: int) -> int:
        """How large a segment has to be that begins with these messages."""
        return max(self.segment_bytes, self.heading_bytes + group_bytes)


def is_full(bounds: SpoolBounds, held_bytes: int, more_bytes: int) -> bool:
    """Whether so much more would be too much; both are of whole files."""
    return held_bytes + more_bytes > bounds.total_bytes


def is_too_old(bounds: SpoolBounds, oldest_age_s: float | None) -> bool:
    """`oldest_age_s` None: nothing waits."""
    if bounds.age_s is None or oldest_age_s is None:
        return False
    return oldest_age_s > bounds.age_s
