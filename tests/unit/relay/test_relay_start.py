"""Where a partition goes on: in the topic that was brought, in one that was made anew, or not."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.base.ranges import Range
from millrace.kafka.core.coordinates import Part
from millrace.relay.core.positions import Mark, Position, TopicIds, fingerprint
from millrace.relay.core.relay_plan import Cause, Halt
from millrace.relay.core.start import ReadStart, begin, check_first, renewed

PART = Part("plant-a", "t", 2)
HERE = TopicIds("id-1", "there-1")


def at(offset: int, topic: str = "id-1", target: str = "there-1") -> Position:
    return Position(topic, offset, target)


@pytest.mark.parametrize(
    ("stored", "low", "high", "offset"),
    [(None, 7, 9, 7), (None, 0, 0, 0), (7, 7, 9, 7), (8, 0, 9, 8), (9, 7, 9, 9), (9, 9, 9, 9)],
)
def test_a_partition_goes_on_where_it_was_or_begins_with_what_there_is(stored, low, high, offset):
    before = None if stored is None else at(stored)
    assert begin(PART, before, HERE, low, high) == ReadStart(at(offset), offset, stored is None)


@pytest.mark.parametrize("high", [0, 5, 10, 50])
def test_a_topic_that_was_made_anew_is_brought_from_its_beginning(high):
    start = begin(PART, at(10, "id-0"), HERE, 0, high)
    assert start == ReadStart(at(0), 0, is_new=True)


def test_what_a_new_topic_deleted_before_it_was_relayed_halts_its_partition_with_the_span():
    halt = begin(PART, at(10, "id-0"), HERE, 4, 50)
    assert isinstance(halt, Halt)
    assert (halt.cause, halt.lost) == (Cause.OVERTAKEN, Range(first=0, last=3))


def test_what_was_deleted_before_it_was_relayed_halts_its_partition_with_the_span():
    halt = begin(PART, at(5), HERE, 7, 20)
    assert isinstance(halt, Halt)
    assert (halt.cause, halt.part, halt.lost) == (Cause.OVERTAKEN, PART, Range(first=5, last=6))
    assert "plant-a/t-2: the site deleted [5..6], 2 offsets" in halt.text
    assert halt.way_out("r").endswith("millrace relay r --accept-loss plant-a/t/2")


def test_a_broker_that_went_back_in_the_same_topic_halts_the_partition():
    halt = begin(PART, at(10), HERE, 0, 9)
    assert isinstance(halt, Halt)
    assert (halt.cause, halt.lost) == (Cause.WENT_BACK, None)
    assert "up to offset 10, but the site's next is 9" in halt.text
    assert "--accept-loss plant-a/t/2:9" in halt.way_out("r")


@pytest.mark.parametrize("topic", ["id-1", "id-0"], ids=["same source", "source made anew too"])
def test_a_target_that_was_made_anew_halts_what_was_brought_to_the_old(topic):
    halt = begin(PART, at(10, topic, "there-0"), HERE, 0, 20)
    assert isinstance(halt, Halt)
    assert halt.cause is Cause.OTHER_TARGET


LAST = fingerprint(b"k", b"v", 1)
KNOWN = at(10)._replace(last=Mark(8, LAST))


def test_the_last_record_is_read_again_where_it_is_there_still():
    assert begin(PART, KNOWN, HERE, 0, 20) == ReadStart(KNOWN, 8)
    assert begin(PART, KNOWN, HERE, 9, 20) == ReadStart(KNOWN, 10)


@pytest.mark.parametrize(
    ("offset", "print_", "is_same"),
    [
        (8, LAST, True),
        (8, fingerprint(b"k", b"w", 1), False),
        (8, fingerprint(b"k", b"v", 2), False),
        (9, LAST, False),
        (10, 0, True),
        (12, 0, True),
    ],
    ids=["same", "other value", "other time", "where was none", "compacted", "and more"],
)
def test_another_record_in_the_place_of_the_last_tells_another_log(offset, print_, is_same):
    halt = check_first(PART, KNOWN, offset, print_)
    assert (halt is None) == is_same
    if halt:
        assert halt.cause is Cause.OTHER_LOG


def test_a_renewal_says_how_far_the_old_topic_was_brought():
    before = {0: at(5, "id-0"), 1: at(9, "id-0"), 2: at(3)}
    assert "its partitions: 0: 5, 1: 9;" in renewed("plant-a", "t", "id-1", before).text


@dataclass
class Model:
    """A partition whose topic is filled, made anew, cut short, and relayed with crashes."""

    topics: list[list[int]] = field(default_factory=lambda: [[]])
    low: int = 0
    stored: Position | None = None
    brought: list[tuple[str, int]] = field(default_factory=list)
    halt: Halt | None = None

    @property
    def name(self) -> str:
        return f"id-{len(self.topics)}"

    def grow(self, count: int) -> None:
        self.topics[-1] += range(len(self.topics[-1]), len(self.topics[-1]) + count)

    def make_anew(self, count: int) -> None:
        self.topics.append([])
        self.low = 0
        self.grow(count)

    def delete(self, count: int) -> None:
        self.low = min(self.low + count, len(self.topics[-1]))

    def relay(self, count: int) -> None:
        """A process that begins, brings so many at most, and dies."""
        origin, high = TopicIds(self.name, "there"), len(self.topics[-1])
        start = begin(PART, self.stored, origin, self.low, high)
        if isinstance(start, Halt):
            self.halt = start
            return
        self.halt = None
        self.stored = start.position
        for offset in range(start.position.offset, min(high, start.position.offset + count)):
            self.brought.append((self.name, offset))
            self.stored = start.position._replace(offset=offset + 1)


STEPS = st.lists(
    st.tuples(st.sampled_from(["grow", "make_anew", "delete", "relay"]), st.integers(0, 5)),
    max_size=40,
)


@pytest.mark.generated
@given(STEPS)
def test_nothing_is_skipped_or_doubled_however_often_a_topic_is_made_anew(steps):
    """Of each topic that was seen: one row of offsets, from the first that it had; of all but the
    first to be seen that is 0."""
    model = Model()
    for step, count in steps:
        getattr(model, step)(count)
    seen = list(dict.fromkeys(name for name, _ in model.brought))
    for number, name in enumerate(seen):
        offsets = [offset for one, offset in model.brought if one == name]
        assert offsets == list(range(offsets[0], offsets[0] + len(offsets)))
        assert number == 0 or offsets[0] == 0
    model.relay(1_000)
    end = len(model.topics[-1])
    assert model.halt or model.stored == Position(model.name, end, "there")
    if model.halt:
        assert model.halt.cause is Cause.OVERTAKEN
