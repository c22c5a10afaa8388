"""Simulated sensors: a value that settles from `base` towards `target`, with noise and spikes.

T(t) = base + exp((t0 - t) / 30000) * (target + base) + random(-1, 1) * noise, t in ms.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from millrace.base.model import Frozen
from millrace.base.names import TopicName

_SETTLE_MS = 30_000
# A simulator's certificate, and whom it trusts, in a folder of its own.
SIMULATOR_KEY, SIMULATOR_CA = "simulator.pem", "ca.pem"


def simulator_name(site: str) -> str:
    """Of the device that a simulator is, as its certificate says."""
    return f"{site}-simulator"


class Simulator(Frozen):
    """What a site's simulated sensors send."""

    topic: TopicName = "temperature-data"
    format: Literal["avro", "json"] = "avro"
    rate: Annotated[float, Field(gt=0, le=1_000_000)] = 10.0
    seed: int = 1
    sensors: Annotated[int, Field(ge=1, le=1_000_000)] = 5
    base: float = 20.0
    target: float = 25.0
    noise: Annotated[float, Field(ge=0)] = 0.5
    unit: Literal["C", "F", "K"] = "C"
    interval_ms: Annotated[int, Field(ge=1)] = 1000
    spike_chance: Annotated[float, Field(ge=0, le=1)] = 0.001
    spike: float = 40.0


@dataclass(frozen=True)
class Reading:
    """One measurement; `sensor_id` is the message's key."""

    sensor_id: str
    elapsed_ms: int
    temperature: float
    unit: str


def temperature_at(simulator: Simulator, elapsed_ms: int, chance: random.Random) -> float:
    """The formula above, `elapsed_ms` being t - t0."""
    settling = math.exp(-elapsed_ms / _SETTLE_MS) * (simulator.target + simulator.base)
    value = simulator.base + settling + chance.uniform(-1, 1) * simulator.noise
    if chance.random() < simulator.spike_chance:
        value += simulator.spike
    return round(value, 4)


def readings(simulator: Simulator, site: str) -> Iterator[Reading]:
    """An endless series, the same on every run with the same seed: sensors take turns."""
    chance = random.Random(f"{simulator.seed}/{site}")  # noqa: S311 - a simulation, not a secret
    elapsed_ms = 0
    while True:
        for number in range(simulator.sensors):
            yield Reading(
                sensor_id=f"{site}-t{number + 1}",
                elapsed_ms=elapsed_ms,
                temperature=temperature_at(simulator, elapsed_ms, chance),
                unit=simulator.unit,
            )
        elapsed_ms += simulator.interval_ms
