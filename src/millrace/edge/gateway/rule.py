"""One rule at work on messages."""

from __future__ import annotations

from typing import Any

from millrace.core.gateway.records import MAX_KEY_BYTES, Draft, Record
from millrace.core.gateway.rules import RuleSpec, RuleState, UnitField
from millrace.core.thresholds import Detector, ThresholdEvent, Unit
from millrace.edge.gateway.fields import fields_reader

_UNITS = {unit.value: unit for unit in Unit}


class Rule:
    def __init__(self, spec: RuleSpec, state: RuleState, input_name: str) -> None:
        self.spec = spec
        self.told = state.told
        self._detector = Detector(spec.threshold, state.exceeding)
        self._topic = spec.topic.encode()
        self._origin = f"rule/{input_name}/{spec.name}".encode()
        unit = spec.unit.field if isinstance(spec.unit, UnitField) else None
        # Where there is no path for one of them, any that is read anyway stands in its place.
        self._read = fields_reader(
            (spec.sensor, spec.value, spec.time or spec.value, unit or spec.value)
        )
        self._has_time = spec.time is not None
        self._unit = spec.unit if isinstance(spec.unit, Unit) else None

    def state(self) -> RuleState:
        return RuleState(told=self.told, exceeding=self._detector.snapshot())

    def on_record(self, record: Record) -> Draft | None:
        """What there is to tell. A message without sensor, value or unit is none of this rule's."""
        sensor, value, time, unit_name = self._read(record.draft.value)
        number = _as_number(value)
        unit = self._unit or _UNITS.get(str(unit_name))
        if number is None or sensor is None or unit is None:
            return None
        name = str(sensor)
        at = time if self._has_time else None
        at_ms = record.time_ms if at is None or isinstance(at, str) else int(at)
        event = self._detector.on_sample(name, number, unit, at_ms)
        return self._draft(event) if event else None

    def _draft(self, event: ThresholdEvent) -> Draft | None:
        key = event.sensor.encode()
        if len(key) > MAX_KEY_BYTES:
            return None
        self.told += 1
        value = event.model_dump_json().encode()
        return Draft(self._topic, key, value, self._origin, self.told)


def _as_number(value: Any) -> float | None:
    try:
        return None if value is None or isinstance(value, str) else float(value)
    except OverflowError:  # whole numbers have no bound in JSON
        return None
