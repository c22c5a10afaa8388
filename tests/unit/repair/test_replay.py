"""Ranges of offsets, and what a replay may touch, without an engine."""

from __future__ import annotations

import random
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from millrace.base.errors import MillraceError
from millrace.base.instants import first_kept_day, latest_of, parse_day, parse_instant
from millrace.base.ranges import (
    Range,
    Ranges,
    common,
    count,
    joined,
    ranges_of_words,
    show,
    without,
)
from millrace.ingest.core.ends import Ends, below
from millrace.ingest.core.lag import HeldOffsets
from millrace.kafka.core.coordinates import Part, in_ranges, on_days
from millrace.kafka.core.incarnations import Incarnation
from millrace.repair.core.replay_spec import (
    OffsetWindow,
    ReplayRequest,
    ReplayResult,
    check_asked,
    part_result,
    plan_part,
)

DAY = datetime(2026, 11, 18, tzinfo=UTC)


def ranges(*pairs: tuple[int, int]) -> Ranges:
    return tuple(Range(first=first, last=last) for first, last in pairs)


def offsets(spans: Iterable[Range]) -> set[int]:
    return {offset for one in spans for offset in range(one.first, one.last + 1)}


def words(of: set[int]) -> list[tuple[int, int, int]]:
    masks: dict[int, int] = {}
    for offset in of:
        masks[offset >> 6] = masks.get(offset >> 6, 0) | 1 << (offset & 63)
    return [(word, word, mask - (1 << 64 if mask >> 63 else 0)) for word, mask in masks.items()]


@pytest.mark.parametrize("seed", range(20))
def test_words_and_ranges_hold_the_same_offsets_as_sets(seed: int) -> None:
    chance = random.Random(seed)
    left = {o for o in range(400) if chance.random() < chance.choice([0.1, 0.5, 0.98])}
    right = {o for o in range(400) if chance.random() < 0.7}
    a, b = ranges_of_words(words(left)), ranges_of_words(words(right))
    assert offsets(a) == left
    assert count(a) == len(left)
    assert offsets(without(a, b)) == left - right
    assert offsets(common(a, b)) == left & right
    for some in (a, without(a, b), common(a, b)):
        assert some == joined(some), "not in as few ranges as there can be"


def test_full_words_in_a_row_are_one_range() -> None:
    assert ranges_of_words([(2, 1_000_000, -1), (1, 1, -(1 << 63))]) == ranges((127, 64_000_063))


def test_many_ranges_are_shown_short() -> None:
    assert show(ranges((1, 2), (4, 4), (6, 9)), most=2) == "[1..2], [4..4] and 1 more"


# The stream owns everything from 80 on; the broker holds 20 to 99.
@pytest.mark.parametrize(
    ("window", "looked_at", "gone", "left", "to_read"),
    [
        (OffsetWindow(), [(20, 79)], [], [], [(20, 79)]),
        (OffsetWindow(30, 40), [(30, 39)], [], [], [(30, 39)]),
        (OffsetWindow(0, 40), [(0, 39)], [(0, 19)], [], [(20, 39)]),
        (OffsetWindow(5, 15), [(5, 14)], [(5, 14)], [], []),
        (OffsetWindow(70, 90), [(70, 79)], [], [(80, 89)], [(70, 79)]),
        (OffsetWindow(85, 95), [], [], [(85, 94)], []),
        (OffsetWindow(70, None), [(70, 79)], [], [], [(70, 79)]),
        (OffsetWindow(None, 80), [(20, 79)], [], [], [(20, 79)]),
        (OffsetWindow(40, 40), [], [], [], []),
    ],
)
def test_a_window_is_clamped(
    window: OffsetWindow, looked_at: list[Any], gone: list[Any], left: list[Any], to_read: list[Any]
) -> None:
    plan = plan_part(window, 80, HeldOffsets(20, 100))
    assert plan.window == ranges(*looked_at)
    assert plan.gone == ranges(*gone)
    assert plan.left == ranges(*left)
    assert plan.to_read == ranges(*to_read)


def test_without_a_broker_nothing_is_gone() -> None:
    plan = plan_part(OffsetWindow(0, 40), 80, held=None)
    assert (plan.window, plan.gone) == (ranges((0, 39)), ())


def test_what_is_the_streams_depends_on_the_topics_incarnation() -> None:
    read = Incarnation(id="b", since=3, found_at=DAY, begins={0: 2})
    ends = Ends({("t", 0): 5}, {"t": read}, {"t": ("a",)})
    of = {id_: Part("plant-a", "t", 0, id_) for id_ in "abc"}
    assert [ends.owned_from(of[id_]) for id_ in "abc"] == [None, 5, 0]
    # A partition that is not committed yet is all the stream's.
    assert ends.owned_from(Part("plant-a", "t", 1, "b")) == 0
    assert [ends.begins(of[id_]) for id_ in "abc"] == [None, 0, None]
    assert ends.begins(of["b"], first_day=DAY.date()) is None
    # Of what goes on after an older state, the first records are of the one before.
    on = Incarnation(id="b~1", since=3, found_at=DAY, begins={0: 2})
    assert Ends({}, {"t": on}).begins(Part("plant-a", "t", 0, "b~1")) == 2


def test_of_a_former_topic_all_may_be_looked_at() -> None:
    plan = plan_part(OffsetWindow(3, 40), None, held=None)
    assert (plan.window, plan.gone, plan.left) == (ranges((3, 39)), (), ())


def test_what_is_gone_but_in_bronze_is_not_lost() -> None:
    plan = plan_part(OffsetWindow(0, 40), 80, HeldOffsets(20, 100))
    found = {"records": ranges((0, 39)), "in_bronze": ranges((0, 14)), "missing_bronze": ()}
    result = part_result(Part("plant-a", "t", 0), plan, found)
    assert (result.gone, result.records) == (ranges((15, 19)), 40)
    assert not ReplayResult(dry_run=True, parts=(result,)).is_complete


@pytest.mark.parametrize(
    ("asked", "parts_named", "problem"),
    [
        (ReplayRequest(first=5, since=DAY), True, "of offsets or of times"),
        (ReplayRequest(first=5), False, "--partition, one of each"),
        (ReplayRequest(first=6, last=5), True, "--from-offset=6 is after --to-offset=5"),
        (ReplayRequest(since=DAY, until=DAY), False, "is not before --to=2026-11-18"),
    ],
)
def test_ends_that_do_not_fit_are_refused(
    asked: ReplayRequest, parts_named: bool, problem: str
) -> None:
    with pytest.raises(MillraceError, match=problem):
        check_asked(asked, parts_named)


@pytest.mark.parametrize(
    "asked",
    [
        ReplayRequest(),
        ReplayRequest(since=DAY),
        ReplayRequest(until=DAY),
        ReplayRequest(since=DAY - timedelta(1)),
    ],
)
def test_open_ends_are_fine(asked: ReplayRequest) -> None:
    check_asked(asked, parts_named=False)


@pytest.mark.parametrize(
    ("text", "hour"),
    [("2026-11-18T12:00", 12), ("2026-11-18T12:00+02:00", 10), ("2026-11-18", 0)],
)
def test_a_time_is_utc_unless_it_says_otherwise(text: str, hour: int) -> None:
    assert parse_instant("--from", text) == DAY + timedelta(hours=hour)


def test_what_is_no_time_is_refused_with_an_example() -> None:
    with pytest.raises(MillraceError, match=r"--from='yesterday' is not a time; write such as"):
        parse_instant("--from", "yesterday")
    with pytest.raises(MillraceError, match=r"--to='18.11.' is not a day; write such as"):
        parse_day("--to", "18.11.")


def test_days_before_the_first_kept_one_are_not_missed() -> None:
    assert first_kept_day(timedelta(hours=36), DAY) == date(2026, 11, 16)
    assert first_kept_day(None, DAY) is None
    assert latest_of(None, date(2026, 1, 2), date(2026, 1, 1)) == date(2026, 1, 2)
    assert latest_of(None) is None


def test_predicates_are_literals() -> None:
    part = Part("plant-a", "t", 0, "a")
    where = "site = 'plant-a' AND topic = 't' AND topic_id IN ('a') AND partition = 0"
    assert (
        in_ranges({part: Range(first=5, last=9)}) == f"(({where} AND offset >= 5 AND offset <= 9))"
    )
    assert in_ranges({}) == "false"
    assert on_days([date(2026, 11, 18)]) == "day IN (DATE'2026-11-18')"


def test_below_the_ends_are_rows_that_no_stream_writes_any_more() -> None:
    topic = "site = 'plant-a' AND topic = 't' AND topic_id IN "
    now, former = {"t": Incarnation(id="c")}, {"t": ("a", "b")}
    ends = {"plant-a": Ends({("t", 0): 7}, now, former), "plant-b": Ends()}
    assert below(ends) == (
        f"(site NOT IN ('plant-a', 'plant-b') OR ({topic}('c') AND partition = 0 AND offset < 7)"
        f" OR ({topic}('a', 'b')))"
    )
    assert below({}) == "true"
