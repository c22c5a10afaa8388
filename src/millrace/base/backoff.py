"""How long to wait before the next try."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Backoff:
    """Doubles with each failure in a row; a life of `healthy_s` makes it forget them."""

    first_s: float = 1.0
    longest_s: float = 15.0
    healthy_s: float = 60.0
    failures: int = 0

    def on_failure(self, lived_s: float) -> float:
        """The pause before the next try."""
        self.failures = 1 if lived_s >= self.healthy_s else self.failures + 1
        # The exponent is bounded, or years of failures would overflow it.
        return min(self.longest_s, self.first_s * float(2 ** min(self.failures - 1, 30)))
