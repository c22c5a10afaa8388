"""Batches of several writers in one commit: laws of jvm/src/millrace/delta/Groups.java, on a list.

What a table and its commits are is of this page, and so is when the thread that commits runs;
tests/spark/ingest/test_group_commit.py holds the same on real tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from spark_jobs.engine.java import jvm

GROUPS = "millrace.delta.Groups"
AWAY = "the store is away"


# By what Java calls them: it hands back its own object for one of these, and not the object itself.
WAITING: WeakValueDictionary[str, Waiting] = WeakValueDictionary()


class RefusedError(Exception):
    """The text comes back from Java with the failure."""


@dataclass(eq=False)
class Waiting:
    """A batch that waits for its answer."""

    its_writer: int
    batch: int
    # Refused before any commit; or it makes each commit fail that it is in.
    is_of_other_layout: bool = False
    is_broken: bool = False
    answers: list[str] = field(default_factory=list)

    def writer(self) -> str:
        return str(self.its_writer)

    def done(self) -> None:
        self.answers.append("done")

    def failed(self, why: Any) -> None:
        self.answers.append(str(why.getMessage()))

    def toString(self) -> str:
        name = str(id(self))
        WAITING[name] = self
        return name

    def equals(self, other: Any) -> bool:
        return given_back(other) is self

    class Java:
        implements = (f"{GROUPS}$Entry",)


def given_back(one: Any) -> Waiting:
    return WAITING[str(one.toString())]


@dataclass
class Fate:
    """What befalls one attempt."""

    # Comes while it is under way.
    comes: list[Waiting] = field(default_factory=list)
    # Another driver commits these meanwhile, where the table has them not.
    others: list[tuple[int, int]] = field(default_factory=list)
    # The table cannot be reached, before or after all of it is in there.
    fails_before: bool = False
    fails_after: bool = False


@dataclass
class Table:
    fates: Iterator[Fate]
    come: Callable[[list[Waiting]], None] = lambda _: None
    rows: list[tuple[int, int]] = field(default_factory=list)
    # What was tried in one commit, and why it was in vain; empty where it was not.
    tried: list[tuple[list[Waiting], str]] = field(default_factory=list)

    def begin(self, _group: Any) -> Attempt:
        fate = next(self.fates, Fate())
        if fate.comes:
            self.come(fate.comes)
        return Attempt(self, fate, list(self.rows))

    def last(self, rows: list[tuple[int, int]], writer: int) -> int:
        return max((batch for its, batch in rows if its == writer), default=-1)

    class Java:
        implements = (f"{GROUPS}$Table",)


@dataclass
class Attempt:
    table: Table
    fate: Fate
    rows: list[tuple[int, int]]

    def judge(self, entry: Any) -> None:
        one = given_back(entry)
        if one.is_of_other_layout:
            raise RefusedError(f"layout of {id(one)}")
        if self.table.last(self.rows, one.its_writer) >= one.batch:
            raise RefusedError(f"table has {id(one)}")

    def commit(self, entries: list[Any]) -> None:
        group, rows = [given_back(one) for one in entries], self.table.rows
        for writer, batch in self.fate.others:
            if self.table.last(rows, writer) < batch:
                rows.append((writer, batch))
        why = self.why_not(group)
        self.table.tried.append((group, why))
        if not why or (why == AWAY and not self.fate.fails_before):
            rows += [(one.its_writer, one.batch) for one in group]
        if why:
            raise RefusedError(why)

    def why_not(self, group: list[Waiting]) -> str:
        for one in group:
            if self.table.last(self.table.rows, one.its_writer) > self.table.last(
                self.rows, one.its_writer
            ):
                return f"another driver wrote as {one.its_writer}."
            if one.is_broken:
                return f"broken is {id(one)}"
        return AWAY if self.fate.fails_before or self.fate.fails_after else ""

    class Java:
        implements = (f"{GROUPS}$Attempt",)


@dataclass
class Thread:
    """It runs when the test says so."""

    work: list[Any] = field(default_factory=list)

    def execute(self, work: Any) -> None:
        self.work.append(work)

    def run(self) -> None:
        while self.work:
            self.work.pop().run()

    class Java:
        implements = ("java.util.concurrent.Executor",)


def groups(spark: SparkSession, table: Table, thread: Thread) -> Any:
    return jvm(spark).millrace.delta.Groups(table, thread)


def committed(spark: SparkSession, batches: list[list[Waiting]], fates: list[Fate]) -> Table:
    """Until each of them has its answer; between two lists the thread is at rest."""
    table, thread = Table(iter(fates)), Thread()
    queue = groups(spark, table, thread)
    table.come = queue.add
    for some in batches:
        queue.add(some)
        thread.run()
    return table


def test_what_comes_while_a_commit_is_under_way_goes_into_the_next(spark: SparkSession) -> None:
    first, second, third = (Waiting(writer, 0) for writer in range(3))
    table = committed(spark, [[first]], [Fate(comes=[second, third])])
    assert [group for group, _ in table.tried] == [[first], [second, third]]
    assert table.rows == [(0, 0), (1, 0), (2, 0)]


def test_two_batches_of_one_writer_are_two_commits_in_their_order(spark: SparkSession) -> None:
    table = committed(spark, [[Waiting(0, 0), Waiting(1, 0), Waiting(0, 1)]], [])
    assert table.rows == [(0, 0), (1, 0), (0, 1)]
    assert [len(group) for group, _ in table.tried] == [2, 1]


def test_one_bad_batch_of_many_costs_few_commits(spark: SparkSession) -> None:
    group = [Waiting(writer, 0, is_broken=writer == 17) for writer in range(64)]
    table = committed(spark, [group], [])
    assert {writer for writer, _ in table.rows} == set(range(64)) - {17}
    assert [one.its_writer for one in group if one.answers != ["done"]] == [17]
    assert len(table.tried) == 2 * 6 + 1


def test_who_is_withdrawn_in_time_is_in_no_commit(spark: SparkSession) -> None:
    table, thread = Table(iter([])), Thread()
    queue = groups(spark, table, thread)
    gone, stays = Waiting(0, 0), Waiting(1, 0)
    queue.add([gone, stays])
    queue.withdraw(gone)
    thread.run()
    assert table.rows == [(1, 0)]
    assert gone.answers == []


def test_a_thread_that_cannot_begin_leaves_nothing_behind(spark: SparkSession) -> None:
    class NoThread(Thread):
        def execute(self, work: Any) -> None:
            if not self.work:
                self.work.append(None)
                raise RefusedError("no thread")
            self.work[0] = work

    table, thread = Table(iter([])), NoThread()
    queue = groups(spark, table, thread)
    refused, later = Waiting(0, 0), Waiting(1, 0)
    with pytest.raises(Exception, match="no thread"):
        queue.add([refused])
    queue.add([later])
    thread.run()
    assert (refused.answers, later.answers) == ([], ["done"])
    assert table.rows == [(1, 0)]


NUMBERS = st.tuples(st.integers(0, 4), st.integers(0, 2))
BATCHES = st.builds(
    lambda number, fault: Waiting(*number, is_broken=fault == 1, is_of_other_layout=fault == 2),
    NUMBERS,
    st.sampled_from([0, 0, 0, 0, 1, 2]),
)
FATES = st.builds(
    Fate,
    comes=st.lists(BATCHES, max_size=3),
    others=st.lists(NUMBERS, max_size=2),
    fails_before=st.sampled_from([False, False, False, True]),
    fails_after=st.sampled_from([False, False, False, True]),
)


@pytest.mark.generated
@settings(max_examples=100)
@given(st.lists(st.lists(BATCHES, min_size=1, max_size=8), max_size=3), st.lists(FATES, max_size=8))
def test_each_batch_is_in_the_table_once_and_each_error_is_its_own_entrys(
    spark: SparkSession, batches: list[list[Waiting]], fates: list[Fate]
) -> None:
    table = committed(spark, batches, fates)
    begun = fates[: len(fates) - len(list(table.fates))]
    assert len(table.rows) == len(set(table.rows))
    assert all(len({one.its_writer for one in group}) == len(group) for group, _ in table.tried)
    for one in (one for some in (*batches, *(fate.comes for fate in begun)) for one in some):
        (answer,) = one.answers
        place = (one.its_writer, one.batch)
        if answer == "done":
            assert place in table.rows
            assert not one.is_broken
            assert not one.is_of_other_layout
        elif AWAY in answer:
            assert ([one], AWAY) in table.tried
        elif "another driver" in answer:
            assert ([one], f"another driver wrote as {one.its_writer}.") in table.tried
        else:
            assert str(id(one)) in answer
