"""Follows an input's spool and tells, in a spool of its own, what the rules find.

What is safe is looked at once: after a crash from where the state was written down, and events that
were told before are known by their numbers.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from millrace.core.gateway.records import Draft, Record
from millrace.core.gateway.rules import RuleSpec, RulesState, RuleState, UnitField
from millrace.core.thresholds import Detector, ThresholdEvent, Unit
from millrace.edge.gateway.committer import Batch, Committer, Outcome
from millrace.edge.gateway.fields import field_reader
from millrace.edge.gateway.reader import Reader
from millrace.edge.gateway.spool import Spool, bytes_of
from millrace.state.files import read_text, write_atomic

log = logging.getLogger(__name__)
_SAVE_EVERY_S = 1.0
_UNITS = {unit.value: unit for unit in Unit}
Told = Callable[[RuleSpec, bytes], None]


class Rule:
    """One rule at work on messages."""

    def __init__(self, spec: RuleSpec, state: RuleState) -> None:
        self.spec = spec
        self.told = state.told
        self._detector = Detector(spec.threshold, state.exceeding)
        self._sensor, self._value = field_reader(spec.sensor), field_reader(spec.value)
        self._time = field_reader(spec.time) if spec.time else None
        self._unit = field_reader(spec.unit.field) if isinstance(spec.unit, UnitField) else None

    def state(self) -> RuleState:
        return RuleState(told=self.told, exceeding=self._detector.snapshot())

    def on_record(self, record: Record) -> ThresholdEvent | None:
        message = record.draft.value
        value = self._value(message)
        if isinstance(value, str) or value is None:
            return None
        sensor, unit = self._sensor(message), self._unit_of(message)
        if sensor is None or unit is None:
            return None
        at = self._time(message) if self._time else None
        at_ms = record.time_ms if at is None or isinstance(at, str) else int(at)
        return self._detector.on_sample(str(sensor), float(value), unit, at_ms)

    def _unit_of(self, message: bytes) -> Unit | None:
        if self._unit is None:
            return self.spec.unit if isinstance(self.spec.unit, Unit) else None
        return _UNITS.get(str(self._unit(message)))


class RuleFollower(threading.Thread):
    def __init__(
        self, name: str, spool: Spool, rules: Sequence[RuleSpec], file: Path, events: Committer,
        on_told: Told,
    ) -> None:  # fmt: skip
        """`on_told` is called in the event loop, when an event is safe."""
        super().__init__(name=f"rules-{name}", daemon=True)
        self._name, self._spool, self._file, self._events = name, spool, file, events
        self._on_told = on_told
        text = read_text(file)
        state = RulesState.model_validate_json(text) if text else RulesState()
        self._rules = [Rule(spec, state.rules.get(spec.name, RuleState())) for spec in rules]
        self._next = max(state.next_index, spool.first_index)
        self._saved = self._next
        spool.hold_from = self._next
        self._reader = Reader(spool, self._next)
        self._news, self._ends = threading.Event(), threading.Event()
        self._unanswered = 0
        self._answered = threading.Condition()
        self.failure: BaseException | None = None

    def wake(self) -> None:
        self._news.set()

    def end(self) -> None:
        self._ends.set()
        self._news.set()
        self.join()

    def run(self) -> None:
        try:
            while not self._ends.is_set():
                self._news.clear()
                self._follow()
                self._save()
                self._news.wait(_SAVE_EVERY_S)
            self._reader.close()
        except BaseException as error:
            log.critical("rules of %s have failed: %s", self._name, error, exc_info=True)
            self.failure = error

    def _follow(self) -> None:
        while records := self._reader.read():
            for record in records:
                for rule in self._rules:
                    event = rule.on_record(record)
                    if event:
                        self._tell(rule, event)
            self._next = records[-1].serial + 1
            if self._next - self._saved > 100_000:
                self._save()

    def _tell(self, rule: Rule, event: ThresholdEvent) -> None:
        rule.told += 1
        value = event.model_dump_json().encode()
        origin = f"rule/{self._name}/{rule.spec.name}".encode()
        draft = Draft(rule.spec.topic.encode(), event.sensor.encode(), value, origin, rule.told)
        with self._answered:
            self._unanswered += 1

        def answer(_: Batch, outcome: Outcome) -> None:
            with self._answered:
                self._unanswered -= 1
                self._answered.notify()
            if outcome and isinstance(outcome[0], Record):
                self._on_told(rule.spec, value)

        self._events.submit(Batch([draft], bytes_of(draft), answer))

    def _save(self) -> None:
        """Once all that was told is safe: what is behind the state is not looked at again."""
        if self._next == self._saved:
            return
        with self._answered:
            while self._unanswered and not self._ends.is_set():
                self._answered.wait(_SAVE_EVERY_S)
            if self._unanswered:
                return
        rules = {rule.spec.name: rule.state() for rule in self._rules}
        state = RulesState(next_index=self._next, rules=rules)
        try:
            write_atomic(self._file, state.model_dump_json())
        except OSError as error:
            log.warning("%s: %s; the state is written later", self._file, error.strerror)
            return
        self._saved = self._spool.hold_from = self._next


def topics_of(rules: Iterable[RuleSpec]) -> list[str]:
    return sorted({rule.topic for rule in rules})
