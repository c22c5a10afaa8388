"""What waits beside what a look back has met: what is there, and what is another message."""

from __future__ import annotations

import pytest

from millrace.gateway.delivery.core.found_at_broker import FoundAtBroker
from millrace.gateway.spool.core.message_identity import Identity, content_of
from millrace.gateway.spool.core.records import Draft, Record

EPOCH = 7


def record_of(number: int, value: bytes = b"mine", topic: bytes = b"t") -> Record:
    """A message whose number is one above its index."""
    return Record(number - 1, 0, number, 0, Draft(topic, b"key", value), EPOCH)


def met(values: dict[int, bytes], horizon: int, topic: bytes = b"t") -> FoundAtBroker:
    """After a look at a topic that has these values under these numbers, and a stranger's."""
    found = FoundAtBroker(0)
    identity = Identity("plant-t", "lines", topic.decode())
    messages = [(identity.headers(EPOCH, n), content_of(b"key", v)) for n, v in values.items()]
    assert found.meet(topic, identity, [*messages, ([], 0)]) == len(values)
    found.end_look(horizon)
    return found


@pytest.mark.parametrize(
    ("record", "is_there", "is_anothers"),
    [
        (record_of(1), True, False),
        (record_of(1, b"new"), True, True),
        (record_of(2), False, False),
        (record_of(1, topic=b"u"), False, False),
    ],
    ids=["the same", "another's", "a number that was not met", "another topic's"],
)
def test_a_message_is_known_by_its_name_and_what_it_holds(record, is_there, is_anothers):
    found = met({1: b"mine"}, horizon=5)
    shown = found.is_there(record), found.is_anothers(record)
    assert shown == (is_there, is_anothers)


def test_it_ends_with_the_first_message_that_was_not_there_at_the_look():
    found = met({1: b"mine", 2: b"mine"}, horizon=3)
    found.end_before(record_of(3))
    assert found.is_open
    found.end_before(record_of(4))
    assert not found.is_open
    assert not found.is_there(record_of(1))


def test_where_nothing_was_met_nothing_is_compared():
    assert not met({}, horizon=3).is_open
    found = met({1: b"mine"}, horizon=3)
    found.begin_look(b"t")
    assert not found.is_open


def test_a_topic_has_more_until_its_last_message_is_compared():
    found = met({1: b"mine", 3: b"mine"}, horizon=9)
    found.note(record_of(2))
    assert found.with_more(next_index=2) == {b"t"}
    assert found.has_begun_with({b"t"})
    assert found.with_more(next_index=9) == set(), "what comes now was not there"
    found.note(record_of(3))
    assert found.with_more(next_index=3) == set()
