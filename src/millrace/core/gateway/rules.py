"""Rules that a gateway applies to what it takes: a site reacts by itself, within milliseconds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from millrace.core.gateway.paths import FieldPath
from millrace.core.model import Frozen, Name, TopicName
from millrace.core.thresholds import Exceeding, Threshold, Unit


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
    above: float
    hysteresis: Annotated[float, Field(ge=0)] = 0.0
    # Of `above` and `hysteresis`, and of what is told.
    above_unit: Unit = Unit.C
    topic: TopicName
    # A file (0600) whose one line is the address that events are posted to.
    webhook: Path | None = None

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
