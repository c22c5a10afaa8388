"""A site's standing in its job: it reads, is about to be tried again, or is halted.

A fault of one site is that site's: the others go on beside it. What only a person can put right
halts the site; it is tried again slowly, and at once where something about it changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from millrace.base.backoff import Backoff
from millrace.ingest.core.ingest_faults import Fault, FaultVerdict

FIRST_RETRY_S, LONGEST_RETRY_S = 30.0, 600.0
# A query that lived so long without a fault has read, or would have if there were anything.
WELL_AFTER_S = 60.0


def _slowly() -> Backoff:
    return Backoff(first_s=FIRST_RETRY_S, longest_s=LONGEST_RETRY_S, healthy_s=WELL_AFTER_S)


@dataclass
class Standing:
    """`halted` says why, until the site has been seen to work again; empty while it works."""

    halted: str = ""
    _passing: Backoff = field(default_factory=Backoff)
    _lasting: Backoff = field(default_factory=_slowly)
    _begun_at_s: float = 0.0
    _next_try_s: float = 0.0

    def is_due(self, now_s: float) -> bool:
        return now_s >= self._next_try_s

    def on_begin(self, now_s: float) -> None:
        self._begun_at_s = now_s

    def on_fault(self, fault: Fault, now_s: float, *, is_mended: bool = False) -> float:
        """The pause until the next try. `is_mended`: what the fault is about changed since."""
        lasts = fault.verdict in (FaultVerdict.LOGIN, FaultVerdict.HALT) and not is_mended
        if lasts:
            self.halted = fault.reason
        backoff = self._lasting if lasts else self._passing
        pause_s = backoff.on_failure(now_s - self._begun_at_s)
        self._next_try_s = now_s + pause_s
        return pause_s

    def on_change(self, now_s: float) -> None:
        """Something about the site changed, which may be the cure."""
        self._next_try_s = now_s

    def on_alive(self, now_s: float, *, has_read: bool) -> None:
        """Its query runs; `has_read`: it finished a batch since it began."""
        if has_read or now_s - self._begun_at_s >= WELL_AFTER_S:
            self.halted = ""


def end_of_all(halts: Mapping[str, str]) -> str | None:
    """Why a job ends whose sites are all halted; None while one of them goes on."""
    if not halts or not all(halts.values()):
        return None
    return "; ".join(f"site {site!r}: {reason}" for site, reason in halts.items())
