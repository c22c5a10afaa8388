"""Judges what an input has kept, and tells in a spool of its own what the rules find.

As long as it keeps up, the thread that has made messages safe judges them at once: no event is
known before its sample is on disk. After a start, or when there was no room for events, messages
are read from the spool, from where the state was written down; events that were told before are
known by their numbers.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from millrace.gateway.rules.core.rule_spec import RuleSpec, RulesState, RuleState
from millrace.gateway.rules.io.event_log import EventLog
from millrace.gateway.rules.io.rule_at_work import RuleAtWork
from millrace.gateway.spool.core.ledger import Entry
from millrace.gateway.spool.core.records import Draft, Record
from millrace.gateway.spool.io.disk import NoRoomError
from millrace.gateway.spool.io.spool_files import Spool
from millrace.gateway.spool.io.spool_reader import Reader
from millrace.storage.io.files import read_text, write_atomic

log = logging.getLogger(__name__)
_SAVE_EVERY_S = 1.0
_SAVE_EVERY_RECORDS = 100_000
_LOOK_AGAIN_S = 0.1
# Events that are kept at once.
_GROUP = 100
Told = Callable[[RuleSpec, bytes], None]


class RuleFollower(threading.Thread):
    def __init__(
        self, name: str, spool: Spool, rules: Sequence[RuleSpec], file: Path, events: EventLog,
        on_told: Told,
    ) -> None:  # fmt: skip
        """`on_told` is called when an event is safe, in the thread that has made it so."""
        super().__init__(name=f"rules-{name}", daemon=True)
        self._name, self._spool, self._file, self._events = name, spool, file, events
        self._on_told = on_told
        text = read_text(file)
        state = RulesState.model_validate_json(text) if text else RulesState()
        self._rules = [
            RuleAtWork(spec, state.rules.get(spec.name, RuleState()), name) for spec in rules
        ]
        # The state may be of a newer spool than this one.
        self._next = min(max(state.next_index, spool.first_index), spool.next_index)
        self._saved = self._next
        spool.hold_from = self._next
        # Found, and not safe yet.
        self._found: list[tuple[RuleAtWork, Draft]] = []
        # Whether each group is judged as it is kept; else this thread judges, behind them.
        self.is_live = False
        self._lock = threading.Lock()
        self._obstacle = ""
        self._news, self._ends = threading.Event(), threading.Event()
        self.failure: BaseException | None = None

    @property
    def passed_over(self) -> int:
        return sum(rule.passed_over for rule in self._rules)

    def on_kept(self, entries: Sequence[Entry]) -> None:
        """Called in the thread that has made them safe, with each group in turn."""
        with self._lock:
            if self.is_live:
                # The first group may be one that this thread has read.
                new = (e for e in entries if isinstance(e, Record) and e.serial >= self._next)
                self._judge(list(new))
                self.is_live = self._keep_found()
        if not self.is_live:
            self._news.set()

    def end(self) -> None:
        self._ends.set()
        self._news.set()
        self.join()

    def run(self) -> None:
        try:
            while not self._ends.is_set():
                self._news.clear()
                if not self.is_live:
                    self._catch_up()
                self._save()
                self._news.wait(_SAVE_EVERY_S)
        except BaseException as error:
            log.critical("rules of %s have failed: %s", self._name, error, exc_info=True)
            self.failure = error

    def _catch_up(self) -> None:
        reader = Reader(self._spool, self._next)
        try:
            while not self._ends.is_set() and not self.is_live:
                if not self._keep_found():
                    self._ends.wait(_LOOK_AGAIN_S)
                    continue
                end = self._spool.next_index
                records = reader.read()
                self._judge(records)
                if not records:
                    self._go_live(end)
                elif self._next - self._saved > _SAVE_EVERY_RECORDS:
                    self._save()
        finally:
            reader.close()

    def _go_live(self, end: int) -> None:
        """All before `end` is judged, or was lost with what held it."""
        self._next = max(self._next, end)
        with self._lock:
            self.is_live = self._next == self._spool.next_index

    def _judge(self, records: Sequence[Record]) -> None:
        if not records:
            return
        for record in records:
            for rule in self._rules:
                draft = rule.on_record(record)
                if draft:
                    self._found.append((rule, draft))
        self._next = records[-1].serial + 1

    def _keep_found(self) -> bool:
        """Whether all that was found is safe."""
        while self._found:
            group = self._found[:_GROUP]
            try:
                kept = self._events.keep([draft for _, draft in group])
            except NoRoomError as error:
                self._have_no_room(str(error))
                return False
            self._obstacle = ""
            del self._found[: len(group)]
            for (rule, draft), entry in zip(group, kept, strict=True):
                if isinstance(entry, Record):
                    self._on_told(rule.spec, draft.value)
        return True

    def _have_no_room(self, obstacle: str) -> None:
        if not self._obstacle:
            log.warning("rules of %s wait: no room for their events: %s", self._name, obstacle)
        self._obstacle = obstacle

    def _save(self) -> None:
        """Once all that was told is safe: what is behind the state is not looked at again."""
        with self._lock:
            if self._found or self._next == self._saved:
                return
            rules = {rule.spec.name: rule.state() for rule in self._rules}
            state = RulesState(next_index=self._next, rules=rules)
        try:
            write_atomic(self._file, state.model_dump_json())
        except OSError as error:
            log.warning(
                "%s: could not be written (%s); the state of the rules is written later",
                self._file,
                error.strerror,
            )
            return
        self._saved = self._spool.hold_from = state.next_index


def topics_of(rules: Iterable[RuleSpec]) -> list[str]:
    return sorted({rule.topic for rule in rules})
