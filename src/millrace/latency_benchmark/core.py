"""The broker race: a million messages from two providers, from the first to the last received."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean
from typing import Annotated

from pydantic import Field

from millrace.base.model import Frozen

PROVIDERS = 2
# What others have published of the same race, in seconds, by messages a second.
PUBLISHED = {
    20_000: {"Kafka": 59.99, "Pulsar": 55.26},
    40_000: {"Kafka": 46.37, "Pulsar": 42.37},
}


class Race(Frozen):
    messages: Annotated[int, Field(ge=PROVIDERS)] = 1_000_000
    rates: tuple[int, ...] = (20_000, 40_000)
    runs: Annotated[int, Field(ge=1)] = 5
    seed: int = 1
    # Of a message; smaller ones are as long as they are.
    size: int = 0

    @property
    def each(self) -> int:
        """How many messages a provider sends."""
        return self.messages // PROVIDERS


class Lap(Frozen):
    """One run. Moments are of one clock."""

    rate: int
    sent: int
    received: int
    # Whose number was there before, or did not follow the one before it in its partition.
    doubled: int
    disordered: int
    first_sent_s: float
    last_sent_s: float
    first_received_s: float
    last_received_s: float
    gateway_cpu_s: float = 0.0
    broker_cpu_s: float = 0.0

    @property
    def took_s(self) -> float:
        return self.last_received_s - self.first_received_s

    @property
    def behind_s(self) -> float:
        """How long after the last message was sent it was received."""
        return self.last_received_s - self.last_sent_s

    @property
    def lost(self) -> int:
        return self.sent - (self.received - self.doubled)

    @property
    def is_held(self) -> bool:
        """Whether the offered rate came through, and nothing but what was offered."""
        return self.behind_s <= 3.0 and not (self.lost or self.doubled or self.disordered)


class Count:
    """What a consumer has seen: one message after the other, by partition and number."""

    def __init__(self) -> None:
        self.received = self.doubled = self.disordered = 0
        self._last: dict[int, int] = {}
        self._seen: set[int] = set()

    def see(self, partition: int, number: int) -> None:
        self.received += 1
        if number in self._seen:
            self.doubled += 1
            return
        self._seen.add(number)
        if number < self._last.get(partition, 0):
            self.disordered += 1
        self._last[partition] = number


def summary(laps: Iterable[Lap]) -> list[dict[str, object]]:
    """A row for each rate, beside what was published."""
    by_rate: dict[int, list[Lap]] = {}
    for lap in laps:
        by_rate.setdefault(lap.rate, []).append(lap)
    return [_row(rate, of_rate) for rate, of_rate in sorted(by_rate.items())]


def _row(rate: int, laps: list[Lap]) -> dict[str, object]:
    mean_s = fmean(lap.took_s for lap in laps)
    return {
        "rate": rate,
        "runs": len(laps),
        "mean_s": mean_s,
        "worst_s": max(lap.took_s for lap in laps),
        "ideal_s": laps[0].sent / rate,
        "received_per_s": laps[0].received / mean_s,
        "worst_behind_s": max(lap.behind_s for lap in laps),
        "lost": sum(lap.lost for lap in laps),
        "doubled": sum(lap.doubled for lap in laps),
        "disordered": sum(lap.disordered for lap in laps),
        "held": all(lap.is_held for lap in laps),
        "published_s": PUBLISHED.get(rate, {}),
    }
