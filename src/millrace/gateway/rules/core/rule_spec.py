"""Rules that a gateway applies to what it takes: a site reacts by itself, within milliseconds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, FiniteFloat

from millrace.base.model import Frozen
from millrace.base.names import Name, TopicName
from millrace.gateway.routes.core.field_paths import FieldPath
from millrace.gateway.routes.core.risk import Risk
from millrace.gateway.rules.core.thresholds import Exceeding, Threshold, Unit

# Of a sensor's name; what names itself by more is none.
MAX_SENSOR_BYTES = 1_000
# Sums of as many samples as a gateway will ever see stay finite.
_MOST_MEASURED = 1e290
# The last millisecond of the year 9999.
_MOST_TIME_MS = 253_402_300_799_999


def as_measured(value: str | float | None) -> float | None:
    """A sample's number; None where it is none that could be calculated with."""
    if value is None or isinstance(value, str) or not -_MOST_MEASURED < value < _MOST_MEASURED:
        return None
    return float(value)


def as_time_ms(value: str | float | None) -> int | None:
    """Milliseconds since 1970; None where the value is no time at all."""
    if value is None or isinstance(value, str | bool) or not 0 <= value <= _MOST_TIME_MS:
        return None
    return int(value)


class UnitField(Frozen):
    field: FieldPath


class RuleSpec(Frozen):
    """Above a threshold, with hysteresis, for each sensor of an input's JSON messages."""

    name: Name
    sensor: FieldPath
    value: FieldPath
    # Milliseconds since 1970; none: the moment at which a message came.
    time: FieldPath | None = None
    # Of the values; a field that holds one of C, F and K, or one of them.
    unit: Unit | UnitField = Unit.C
    above: FiniteFloat
    hysteresis: Annotated[FiniteFloat, Field(ge=0)] = 0.0
    # Of `above` and `hysteresis`, and of what is told.
    above_unit: Unit = Unit.C
    topic: TopicName
    # A file (0600) whose one line is the address that events are posted to.
    webhook: Path | None = None
    # Asks for an address without TLS.
    risk: Risk | None = None

    @property
    def threshold(self) -> Threshold:
        return Threshold(above=self.above, hysteresis=self.hysteresis, unit=self.above_unit)


class RuleState(Frozen):
    """Of one rule: how many events it has told, and who is over the threshold."""

    told: int = 0
    exceeding: dict[str, Exceeding] = Field(default_factory=dict)


class RulesState(Frozen):
    """All messages before `next_index` are in it."""

    next_index: int = 0
    rules: dict[str, RuleState] = Field(default_factory=dict)


def unique_names(rules: tuple[RuleSpec, ...]) -> tuple[RuleSpec, ...]:
    names = [rule.name for rule in rules]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"two rules have the name {sorted(twice)[0]!r}; each needs its own")
    return rules


Rules = Annotated[tuple[RuleSpec, ...], AfterValidator(unique_names)]
