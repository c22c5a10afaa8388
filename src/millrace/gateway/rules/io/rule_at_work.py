"""One rule at work on messages."""

from __future__ import annotations

from millrace.gateway.routes.io.fields import fields_reader, text_of
from millrace.gateway.rules.core.rule_spec import (
    MAX_SENSOR_BYTES,
    RuleSpec,
    RuleState,
    UnitField,
    as_measured,
    as_time_ms,
)
from millrace.gateway.rules.core.thresholds import Detector, ThresholdEvent, Unit
from millrace.gateway.spool.core.records import Draft, Record

_UNITS = {unit.value: unit for unit in Unit}


class RuleAtWork:
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

    @property
    def passed_over(self) -> int:
        """Samples that nobody judged, as too many sensors are over the threshold."""
        return self._detector.passed_over

    def on_record(self, record: Record) -> Draft | None:
        """What there is to tell. A message without sensor, value or unit is none of this rule's."""
        sensor, value, time, unit_name = self._read(record.draft.value)
        number = as_measured(value)
        unit = self._unit or _UNITS.get(str(unit_name))
        name = text_of(sensor)
        if number is None or unit is None or name is None or len(name.encode()) > MAX_SENSOR_BYTES:
            return None
        at_ms = as_time_ms(time) if self._has_time else None
        event = self._detector.on_sample(
            name, number, unit, record.time_ms if at_ms is None else at_ms
        )
        return self._draft(event) if event else None

    def _draft(self, event: ThresholdEvent) -> Draft:
        self.told += 1
        value = event.model_dump_json().encode()
        return Draft(self._topic, event.sensor.encode(), value, self._origin, self.told)
