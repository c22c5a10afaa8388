"""The machine's clocks: one that somebody may set at any time, and one that nobody can."""

from __future__ import annotations

import logging
import time
from datetime import timedelta

log = logging.getLogger(__name__)
# A clock that is led back to the right time step by step is not set.
_MOST_DRIFT_S = 60
_SINCE_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock:
    def wall_ms(self) -> int:
        return int(time.time() * 1000)

    def since_boot_s(self) -> int:
        """It goes on while the machine sleeps, and begins anew with each boot."""
        return int(time.clock_gettime(_SINCE_BOOT))


class ClockWatch:
    """Notices when the machine's clock was set; what it is good for does not change by that."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._offset_s = self._offset()
        self.count = 0

    def look(self) -> None:
        offset_s = self._offset()
        shift_s, self._offset_s = offset_s - self._offset_s, offset_s
        self.note(shift_s)

    def note(self, shift_s: int) -> None:
        if abs(shift_s) <= _MOST_DRIFT_S:
            return
        self.count += 1
        log.warning(
            "this machine's clock was set %s %s; how long messages wait is counted without it",
            timedelta(seconds=abs(shift_s)), "ahead" if shift_s > 0 else "back",
        )  # fmt: skip

    def _offset(self) -> int:
        return self._clock.wall_ms() // 1000 - self._clock.since_boot_s()
