"""What a look back remembers: by name, as many as may matter, and no more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.gateway.delivery.core.found_names import MOST, FoundNames
from millrace.gateway.delivery.io.courier import ALLOWED_AHEAD
from millrace.gateway.delivery.io.forwarder import MOST_AHEAD

names = st.tuples(st.sampled_from([b"a", b"b"]), st.integers(1, 2), st.integers(1, 60))


def test_all_that_may_have_been_sent_and_is_not_done_has_room():
    assert MOST >= MOST_AHEAD + ALLOWED_AHEAD


def test_beyond_the_bound_the_lowest_numbers_are_forgotten():
    found = FoundNames(most=100)
    for number in range(1, 1_001):
        found.add(b"t", 1, number, number)
        assert len(found) <= 100
    assert found.forgotten == 1_000 - len(found)
    assert found.content(b"t", 1, 1) is None
    assert [found.content(b"t", 1, n) for n in range(930, 1_001)] == [*range(930, 1_001)]
    assert found.highest(b"t", 1) == 1_000


def test_a_topic_is_forgotten_with_all_its_epochs():
    found = FoundNames()
    for topic, epoch in ((b"t", 1), (b"t", 2), (b"u", 1)):
        found.add(topic, epoch, 1, 7)
    found.forget(b"t")
    assert (len(found), found.content(b"u", 1, 1), found.highest(b"t", 2)) == (1, 7, 0)
    found.forget(b"u")
    assert not found


@pytest.mark.generated
@given(st.lists(names, max_size=200), st.integers(1, 50))
def test_what_is_remembered_is_what_was_met(met, most):
    found = FoundNames(most)
    for topic, epoch, number in met:
        found.add(topic, epoch, number, number * epoch)
    assert len(found) <= most
    there = [name for name in set(met) if found.content(*name) is not None]
    assert len(there) == len(found)
    assert all(found.content(*name) == name[1] * name[2] for name in there)
    assert not met or found
