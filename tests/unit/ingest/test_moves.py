"""A checkpoint comes to another topic of the same name, whatever write a crash comes between."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.ingest.core.ends import ends_at
from millrace.ingest.core.lag import parse_offsets
from millrace.ingest.core.moves import (
    DropBeginning,
    Found,
    Kept,
    PutCommit,
    PutHistories,
    PutOffsets,
    Settle,
    next_step,
)
from millrace.kafka.core.incarnations import Histories, beginning, begun_again

NOW = datetime(2026, 11, 20, tzinfo=UTC)
TOPICS = ("t", "u")
Record = tuple[str, str, int]  # topic, id, offset


@dataclass
class World:
    """Two topics of one partition each, a query that reads them into bronze, and its checkpoint."""

    ids: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TOPICS, 0))
    lows: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TOPICS, 0))
    ends: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TOPICS, 0))
    offsets: dict[int, str] = field(default_factory=dict)
    commits: dict[int, str] = field(default_factory=dict)
    histories: Histories = field(default_factory=Histories)
    # Where the query began, once Spark has written it down.
    began: dict[str, int] | None = None
    # Batches that bronze holds, and its rows.
    held: set[int] = field(default_factory=set)
    bronze: list[Record] = field(default_factory=list)
    silver: list[Record] = field(default_factory=list)

    def id_of(self, topic: str) -> str:
        return f"{topic}{self.ids[topic]}"

    @property
    def planned(self) -> int:
        return max(self.offsets, default=-1)

    @property
    def committed(self) -> int:
        return max(self.commits, default=-1)

    def positions(self) -> dict[str, int]:
        if self.committed < 0:
            return dict(self.lows if self.began is None else self.began)
        found = parse_offsets(self.offsets[self.committed].splitlines()[2])
        return {topic: offset for (topic, _), offset in found.items()}

    def make_anew(self, topic: str, low: int, end: int) -> None:
        self.ids[topic] += 1
        self.lows[topic], self.ends[topic] = low, max(low, end)

    def batch(self, reaches: str) -> None:
        """One batch of the query, as far as a crash lets it come."""
        self.began = self.began or dict(self.lows)
        number, begin = self.committed + 1, self.positions()
        if self.planned < number:
            ends = {topic: {"0": self.ends[topic]} for topic in TOPICS}
            self.offsets[number] = f"v1\n{{}}\n{json.dumps(ends)}"
        if reaches == "planned":
            return
        rows = self.span(number, begin)
        if number not in self.held:
            self.held.add(number)
            self.bronze += rows
        if reaches == "bronze":
            return
        self.silver += [row for row in rows if row not in self.silver]
        if reaches == "committed":
            self.commits[number] = "v1\n{}"

    def span(self, number: int, begin: dict[str, int]) -> list[Record]:
        ids = self.histories.at(number)
        ends = parse_offsets(self.offsets[number].splitlines()[2])
        return [
            (topic, ids[topic].id, offset)
            for (topic, _), end in sorted(ends.items())
            for offset in range(begin[topic], end)
        ]

    def settle(self, number: int) -> bool:
        if number not in self.held:
            self.held.add(number)
        rows = [row for row in self.span(number, self.positions()) if row in self.bronze]
        self.silver += [row for row in rows if row not in self.silver]
        return bool(rows)

    def bring(self, crash_after: int | None = None) -> bool:
        """As spark_jobs/ingest/site_topics.py; False where a crash came first."""
        if not self.histories.topics:
            self.histories = Histories(topics=beginning({t: self.id_of(t) for t in TOPICS}, {}))
        newest = self.histories.newest
        found = {
            topic: Found(self.id_of(topic), {0: self.lows[topic]})
            for topic in TOPICS
            if newest[topic].id != self.id_of(topic)
        }
        steps = 0
        while step := self.next(found):
            if steps == crash_after:
                return False
            self.do(step)
            steps += 1
        return True

    def kept(self) -> Kept:
        return Kept(
            histories=self.histories,
            planned=self.planned,
            committed=self.committed,
            positions={(topic, 0): offset for topic, offset in self.positions().items()},
            offsets=self.offsets.get(self.planned, ""),
            commit=self.commits.get(self.committed, ""),
            has_beginning=self.began is not None,
        )

    def next(self, found: dict[str, Found]) -> object:
        step = next_step(self.kept(), found, NOW)
        if isinstance(step, Settle):
            step = next_step(self.kept(), found, NOW, is_held=self.settle(step.batch))
        return step

    def do(self, step: object) -> None:
        match step:
            case PutHistories(histories):
                self.histories = histories
            case PutOffsets(batch, text):
                self.offsets[batch] = text
            case PutCommit(batch, text):
                self.commits[batch] = text
            case DropBeginning():
                self.began = None


made_anew = st.tuples(
    st.just("anew"), st.sampled_from(TOPICS), st.integers(0, 3), st.integers(0, 9)
)
grown = st.tuples(st.just("grown"), st.sampled_from(TOPICS), st.integers(1, 4), st.just(0))
read = st.tuples(
    st.just("read"), st.sampled_from(("planned", "bronze", "silver", "committed")), st.just(0),
    st.just(0),
)  # fmt: skip
running = st.tuples(st.just("running"), st.just(""), st.just(0), st.just(0))
crashed = st.tuples(st.just("crashed"), st.just(""), st.integers(0, 6), st.just(0))


@pytest.mark.generated
@given(st.lists(st.one_of(made_anew, grown, read, running, crashed), max_size=25))
def test_whatever_happens_each_record_is_there_once_under_its_topics_id(
    happened: list[tuple[str, str, int, int]],
) -> None:
    world, made = World(), set[Record]()
    for what, name, number, end in [*happened, ("read", "committed", 0, 0)]:
        if what == "anew":
            world.make_anew(name, number, end)
        elif what == "grown":
            world.ends[name] += number
        elif what == "crashed":
            world.bring(crash_after=number)
        elif what == "running" and world.histories.topics:
            # Planned by a query that does not know yet; the look before its commit ends it.
            world.batch("planned")
        elif what == "read" and world.bring():
            world.batch(name)
        for topic in TOPICS:
            its = range(world.lows[topic], world.ends[topic])
            made |= {(topic, world.id_of(topic), offset) for offset in its}
    # A batch that was planned before may hold less than all that there is now.
    assert world.bring()
    world.batch("committed")
    assert len(world.bronze) == len(set(world.bronze)), "a record came twice"
    assert set(world.bronze) <= made, "a record that no topic had, or under another topic's id"
    assert sorted(world.silver) == sorted(world.bronze)
    of_now = {
        (topic, world.id_of(topic), offset)
        for topic in TOPICS
        for offset in range(world.lows[topic], world.ends[topic])
    }
    assert of_now <= set(world.bronze), "records of the topics as they are now are missing"


def test_a_batch_that_bronze_has_is_finished_first_and_one_it_has_not_gives_its_place() -> None:
    for reaches, batch in (("bronze", 1), ("planned", 0)):
        world = World(ends={"t": 5, "u": 7})
        world.bring()
        world.batch(reaches)
        world.make_anew("t", 2, 9)
        assert world.bring()
        move = world.histories.move
        assert move is not None
        assert (move.batch, world.planned, world.committed) == (batch, batch, batch)
        read_of_u = 7 if reaches == "bronze" else 0
        assert world.positions() == {"t": 2, "u": read_of_u}


def test_what_the_tables_had_before_a_checkpoint_is_no_streams_any_more() -> None:
    histories = Histories(topics=beginning({"t": "now"}, {"t": ["old", "now"]}))
    ends = ends_at(-1, {("t", 0): 4}, histories)
    assert (ends.former, ends.id_of("t")) == ({"t": ("old",)}, "now")


def test_what_a_broker_goes_on_with_after_an_older_state_has_an_id_of_its_own() -> None:
    known = beginning({"t": "a"}, {})["t"]
    assert begun_again("b", known) == "b"
    again = begun_again("a", known)
    assert again == "a~1"
    (one,) = beginning({"t": again}, {})["t"]
    assert (one.brokers_id, one.goes_on) == ("a", True)
    assert begun_again("a", (*known, one)) == "a~2"
