"""Threshold detection with hysteresis, a sensor at a time: the same at the edge and in the centre.

        exceeding begins           ends
above  -----*-------*--------------------     *  a sample
          *   *   *   *
- width ----------------*----------------
      *                   *
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import Field, FiniteFloat

from millrace.base.model import Frozen

# How many may be over a threshold at once: their names are whatever their messages say.
_MOST_SENSORS = 10_000


class Unit(StrEnum):
    C = "C"
    F = "F"
    K = "K"


def to_celsius(value: float, unit: Unit) -> float:
    if unit is Unit.F:
        return (value - 32) * 5 / 9
    return value - 273.15 if unit is Unit.K else value


def convert(value: float, source: Unit, target: Unit) -> float:
    if source is target:
        return value
    celsius = to_celsius(value, source)
    if target is Unit.F:
        return celsius * 9 / 5 + 32
    return celsius + 273.15 if target is Unit.K else celsius


class Threshold(Frozen):
    """Exceeding begins above `above`, and ends below `above - hysteresis`; both in `unit`."""

    above: FiniteFloat
    hysteresis: Annotated[FiniteFloat, Field(ge=0)] = 0.0
    unit: Unit = Unit.C


class Exceeding(Frozen):
    """Since a sensor is over its threshold."""

    first_ms: int
    latest_ms: int  # when a sample was above the threshold last
    count: int
    total: float
    maximum: float


class ThresholdChange(StrEnum):
    BEGAN = "began"
    ENDED = "ended"


class ThresholdEvent(Frozen):
    """What is told when exceeding begins and when it ends; numbers are in the threshold's unit."""

    change: ThresholdChange
    sensor: str
    threshold: float
    hysteresis: float
    unit: Unit
    first_ms: int
    latest_ms: int
    at_ms: int
    lasted_ms: int
    average: float
    maximum: float


class Detector:
    def __init__(
        self,
        threshold: Threshold,
        states: Mapping[str, Exceeding] | None = None,
        most_sensors: int = _MOST_SENSORS,
    ) -> None:
        self._threshold = threshold
        self._states = dict(states or {})
        self._most_sensors = most_sensors
        # Samples above the threshold of sensors that there was no room to follow.
        self.passed_over = 0

    def snapshot(self) -> dict[str, Exceeding]:
        return dict(self._states)

    def on_sample(self, sensor: str, value: float, unit: Unit, at_ms: int) -> ThresholdEvent | None:
        number = convert(value, unit, self._threshold.unit)
        if not math.isfinite(number):
            return None
        before = self._states.get(sensor)
        if before is None:
            return self._begin(sensor, number, at_ms)
        now = self._follow(before, number, at_ms)
        if number < self._threshold.above - self._threshold.hysteresis:
            del self._states[sensor]
            # What ends it is no part of it.
            return self._event(ThresholdChange.ENDED, sensor, before, at_ms)
        self._states[sensor] = now
        return None

    def _begin(self, sensor: str, number: float, at_ms: int) -> ThresholdEvent | None:
        if number <= self._threshold.above:
            return None
        if len(self._states) >= self._most_sensors:
            self.passed_over += 1
            return None
        begun = Exceeding(
            first_ms=at_ms, latest_ms=at_ms, count=1, total=number, maximum=number
        )  # fmt: skip
        self._states[sensor] = begun
        return self._event(ThresholdChange.BEGAN, sensor, begun, at_ms)

    def _follow(self, before: Exceeding, number: float, at_ms: int) -> Exceeding:
        is_above = number > self._threshold.above
        return Exceeding(
            first_ms=before.first_ms,
            latest_ms=max(before.latest_ms, at_ms) if is_above else before.latest_ms,
            count=before.count + 1,
            total=before.total + number,
            maximum=max(before.maximum, number),
        )

    def _event(
        self, change: ThresholdChange, sensor: str, of: Exceeding, at_ms: int
    ) -> ThresholdEvent:
        return ThresholdEvent(
            change=change,
            sensor=sensor,
            threshold=self._threshold.above,
            hysteresis=self._threshold.hysteresis,
            unit=self._threshold.unit,
            first_ms=of.first_ms,
            latest_ms=of.latest_ms,
            at_ms=at_ms,
            lasted_ms=max(0, at_ms - of.first_ms),
            average=of.total / of.count,
            maximum=of.maximum,
        )
