"""What goes into which transaction, by a target that keeps what is committed and refuses some."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import pytest
from confluent_kafka import KafkaError

from millrace.kafka.core.coordinates import Part
from millrace.relay.core.positions import Mark, Position, TopicIds
from millrace.relay.core.relay_plan import TRANSACTION_BYTES, Halt
from millrace.relay.io.inbox import Inbox, RelayedBatch
from millrace.relay.io.relay_ledger import RelayLedger
from millrace.relay.io.target import AbortedError
from millrace.relay.io.writer import Writer

OLD, NEW = {"t": TopicIds("old", "there")}, {"t": TopicIds("new", "there")}
P, Q = Part("a", "t", 0), Part("a", "t", 1)


@dataclass(frozen=True)
class Record:
    part: Part
    number: int
    size: int = 10

    def topic(self) -> str:
        return self.part.topic

    def partition(self) -> int:
        return self.part.partition

    def offset(self) -> int:
        return self.number

    def __len__(self) -> int:
        return self.size


@dataclass
class InMemoryTarget:
    """All or nothing. `refuses` for ever, `aborts` so many times."""

    refuses: set[Record] = field(default_factory=set)
    aborts: int = 0
    brought: list[Record] = field(default_factory=list)
    noted: dict[Part, Position] = field(default_factory=dict)
    commits: int = 0
    _records: list[Record] = field(default_factory=list)
    _noted: dict[Part, Position] = field(default_factory=dict)

    @property
    def positions(self) -> dict[Part, int]:
        return {part: position.offset for part, position in self.noted.items()}

    def begin(self) -> None:
        self._records, self._noted = [], {}

    def produce(self, batch: RelayedBatch) -> dict[Part, Position]:
        new: list[Any] = batch.messages
        self._records += new
        return {
            record.part: batch.position(record.part, record.number + 1, Mark(record.number, 7))
            for record in new
        }

    def note(self, positions: Mapping[Part, Position]) -> None:
        self._noted = dict(positions)

    def commit(self) -> None:
        if self.refuses & set(self._records):
            raise AbortedError(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))
        if self.aborts:
            self.aborts -= 1
            raise AbortedError(KafkaError(KafkaError.NOT_ENOUGH_REPLICAS))
        for part, position in self._noted.items():
            known = self.noted.get(part)
            assert position.is_ahead_of(known), "a step back brings records twice"
        self.brought += self._records
        self.noted |= self._noted
        self.commits += 1


class CommandStates:
    """A writer, what it is given, and what halted."""

    def __init__(self, target: InMemoryTarget) -> None:
        self.target = target
        self.halts: list[Halt] = []
        self.inbox = Inbox()
        ledger = RelayLedger({}, self.halts.append, lambda _: None)
        made: Any = target
        self.writer = Writer(made, ledger, self.inbox, Event())

    def bring(self, *batches: RelayedBatch) -> None:
        for batch in batches:
            assert self.inbox.put(batch, 0)
        self.writer.bring_next()


def records(part: Part, *numbers: int) -> list[Any]:
    return [Record(part, number) for number in numbers]


def batch(messages: list[Any], origins: Mapping[str, TopicIds] = OLD, **ends: int) -> RelayedBatch:
    parts = {"p": P, "q": Q}
    return RelayedBatch(
        "a", origins, messages, {parts[name]: offset for name, offset in ends.items()}
    )


def test_all_that_waits_is_one_transaction():
    desk = CommandStates(InMemoryTarget())
    desk.bring(batch(records(P, 0, 1)), batch(records(Q, 0)), batch(records(P, 2)))
    assert desk.target.commits == 1
    assert desk.target.brought == [*records(P, 0, 1), *records(Q, 0), *records(P, 2)]
    assert desk.target.positions == {P: 3, Q: 1}


def test_a_start_is_written_down_once_and_an_end_only_when_it_is_ahead():
    desk = CommandStates(InMemoryTarget())
    desk.bring(batch([], p=5))
    desk.bring(batch([], p=5))
    assert (desk.target.commits, desk.target.positions) == (1, {P: 5})
    desk.bring(batch(records(P, 5, 6), p=5))
    desk.bring(batch([], p=6))
    assert (desk.target.commits, desk.target.positions) == (2, {P: 7})
    desk.bring(batch([], p=8))
    assert desk.target.positions == {P: 8}


def test_a_backlog_of_large_records_is_several_transactions():
    desk = CommandStates(InMemoryTarget())
    large = [Record(P, number, size=TRANSACTION_BYTES // 2 + 1) for number in range(3)]
    assert desk.inbox.put(batch(large[:2]), 0)
    assert not desk.inbox.put(batch(large[2:]), 0), "a transaction's worth waits already"
    desk.writer.bring_next()
    assert desk.target.brought == large[:2]
    desk.bring(batch(large[2:]))
    assert desk.target.brought == large


def test_many_small_batches_wait_for_one_transaction_and_not_for_several():
    desk = CommandStates(InMemoryTarget())
    desk.bring(*(batch(records(P, number), p=number) for number in range(1_000)))
    assert desk.target.commits == 1
    assert desk.target.positions == {P: 1_000}


def test_an_aborted_transaction_is_tried_again_whole():
    desk = CommandStates(InMemoryTarget(aborts=1))
    desk.bring(batch(records(P, 0, 1, 2)))
    assert desk.target.brought == records(P, 0, 1, 2)
    assert desk.halts == []


@pytest.mark.parametrize("number", [0, 1, 4, 8, 9])
def test_what_follows_a_refused_record_stays_and_all_else_goes_on(number):
    desk = CommandStates(InMemoryTarget(refuses={Record(P, number)}))
    mixed = [record for n in range(10) for record in (*records(P, n), *records(Q, n))]
    desk.bring(batch(mixed[:7]), batch(mixed[7:], p=10, q=10))
    assert [one for one in desk.target.brought if one.part == P] == records(P, *range(number))
    assert [one for one in desk.target.brought if one.part == Q] == records(Q, *range(10))
    assert desk.target.positions.get(P, 0) == number
    assert [(halt.part, halt.offset) for halt in desk.halts] == [(P, number)]

    desk.bring(batch([*records(P, 10), *records(Q, 10)], p=11, q=11))
    assert desk.target.positions.get(P, 0) == number
    assert desk.target.positions[Q] == 11


def test_two_partitions_may_be_refused_at_once():
    desk = CommandStates(InMemoryTarget(refuses={Record(P, 2), Record(Q, 3)}))
    mixed = [record for n in range(6) for record in (*records(P, n), *records(Q, n))]
    desk.bring(batch(mixed, p=6, q=6))
    assert desk.target.positions == {P: 2, Q: 3}
    assert {halt.part for halt in desk.halts} == {P, Q}


def test_a_topic_that_was_made_anew_is_noted_from_its_beginning_in_the_same_transaction():
    desk = CommandStates(InMemoryTarget())
    desk.bring(batch(records(P, 0, 1, 2), p=3), batch([], NEW, p=0), batch(records(P, 0), NEW))
    assert desk.target.commits == 1
    assert desk.target.brought == [*records(P, 0, 1, 2), *records(P, 0)]
    assert desk.target.noted == {P: Position("new", 1, "there", Mark(0, 7))}


def test_a_record_that_was_refused_holds_back_nothing_of_a_topic_that_was_made_anew():
    desk = CommandStates(InMemoryTarget(refuses={Record(P, 2)}))
    desk.bring(batch(records(P, 1, 2, 3), p=4))
    assert desk.target.noted[P] == Position("old", 2, "there", Mark(1, 7))
    desk.bring(batch([], NEW, p=0), batch(records(P, 0, 1), NEW))
    assert desk.target.noted[P] == Position("new", 2, "there", Mark(1, 7))


def test_the_last_record_stays_known_where_only_an_end_is_noted():
    desk = CommandStates(InMemoryTarget())
    desk.bring(batch(records(P, 0, 1)))
    desk.bring(batch([], p=9))
    assert desk.target.noted[P] == Position("old", 9, "there", Mark(1, 7))


def test_the_writer_says_when_it_is_done_with_all_that_came_before():
    desk, passed = CommandStates(InMemoryTarget()), Event()
    desk.bring(batch(records(P, 0)), RelayedBatch("a", {}, passed=passed))
    assert passed.is_set()
    assert desk.target.brought == records(P, 0)
