"""Which holes are losses."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.base.ranges import Range, Ranges
from millrace.ingest.core.lag import HeldOffsets, overtaken
from millrace.kafka.core.coordinates import Part
from millrace.repair.core.alarms import AlarmKind, disagreement_alarm, sequence_alarm
from millrace.repair.core.verify_spec import (
    ContinuityResult,
    Facts,
    PartitionVerdict,
    gaps_between,
    holes,
    judge,
    part_alarms,
    producer_gaps,
    to_ask,
    topics_with_empty_offsets,
)

PART = Part("plant-a", "t", 0)


def ranges(*pairs: tuple[int, int]) -> Ranges:
    return tuple(Range(first=first, last=last) for first, last in pairs)


HELD = HeldOffsets(20, 100)


# The broker holds 20 to 99, and the stream has read all of it, where nothing else is said.
def facts(*present: tuple[int, int], committed: int = 100, held: Any = HELD) -> Facts:
    return Facts(ranges(*present), committed, held)


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (facts((0, 99)), []),
        (facts((5, 99)), []),
        (facts((0, 9), (12, 99)), [(10, 11)]),
        (facts((30, 99)), [(20, 29)]),
        (facts((20, 89)), [(90, 99)]),
        (facts(), [(20, 99)]),
        (facts((0, 49), committed=50), []),
        (facts((0, 9), (20, 99), held=None), [(10, 19)]),
        (facts(held=None), []),
    ],
    ids=[
        "whole",
        "kept from 5 on",
        "in the middle",
        "at the beginning",
        "at the end",
        "all of it",
        "the rest is not read yet",
        "no broker",
        "nothing known",
    ],
)
def test_holes_are_what_should_be_there(known: Facts, expected: list[tuple[int, int]]) -> None:
    assert holes(known) == ranges(*expected)


def test_only_what_the_broker_holds_is_asked_of_it() -> None:
    assert to_ask(facts((0, 9), (22, 49), (60, 99))) == ranges((20, 21), (50, 59))
    assert to_ask(facts((0, 9), (22, 99), held=None)) == ()


@pytest.mark.parametrize(
    ("at_broker", "has_empty", "expected"),
    [
        ([(50, 59)], False, PartitionVerdict(ranges((50, 59)), (), ranges((10, 19)), ())),
        (
            [(52, 70)],
            True,
            PartitionVerdict(ranges((52, 59)), ranges((50, 51)), (), ranges((10, 19))),
        ),
        ([], True, PartitionVerdict((), ranges((50, 59)), (), ranges((10, 19)))),
    ],
    ids=["all there", "some there, below markers", "markers alone"],
)
def test_a_hole_is_a_loss_when_the_broker_has_a_record_there(
    at_broker: list[tuple[int, int]], has_empty: bool, expected: PartitionVerdict
) -> None:
    known = facts((0, 9), (20, 49), (60, 99))
    assert judge(known, ranges(*at_broker), has_empty_offsets=has_empty) == expected


def test_nothing_is_proven_without_the_broker() -> None:
    verdict = judge(facts((0, 9), (20, 99), held=None), (), has_empty_offsets=False)
    assert verdict == PartitionVerdict((), (), (), ranges((10, 19)))


def test_a_missing_record_comes_with_the_command_that_brings_it_back() -> None:
    known = facts((20, 49), (60, 99))
    verdict = judge(known, ranges((50, 59)), has_empty_offsets=False)
    (alarm,) = part_alarms("temperature", PART, known, verdict)
    assert (alarm.name, alarm.ranges) == ("missing:plant-a/t-0", ranges((50, 59)))
    assert alarm.text == "10 records [50..59] at the broker and not in bronze"
    assert alarm.command == (
        "millrace replay temperature --site plant-a --topic t --partition 0"
        " --from-offset 50 --to-offset 59"
    )


def test_a_topic_that_was_made_anew_is_noticed() -> None:
    known = facts((0, 99), held=HeldOffsets(0, 30))
    verdict = judge(known, (), has_empty_offsets=False)
    (alarm,) = part_alarms("temperature", PART, known, verdict)
    assert (alarm.kind, alarm.ranges) == (AlarmKind.REWOUND, ranges((30, 99)))


def test_lost_records_are_named() -> None:
    known = facts((0, 9), (12, 99))
    verdict = judge(known, (), has_empty_offsets=False)
    (alarm,) = part_alarms("temperature", PART, known, verdict)
    assert (alarm.kind, alarm.ranges, alarm.command) == (AlarmKind.LOST, ranges((10, 11)), None)


#  0.......9|10 11|12......99   read up to 10, and the broker begins at 12
def test_records_that_were_deleted_before_they_were_read_are_named_while_the_site_is_halted() -> (
    None
):
    gone = overtaken({("t", 0): 10}, {("t", 0): HeldOffsets(12, 100), ("t", 1): HeldOffsets(5, 9)})
    assert gone == {("t", 0): HeldOffsets(10, 12)}
    known = Facts(ranges((0, 9)), 10, HeldOffsets(12, 100), overtaken=ranges((10, 11)))
    assert to_ask(known) == ()
    verdict = judge(known, (), has_empty_offsets=False)
    (alarm,) = part_alarms("temperature", PART, known, verdict)
    assert (alarm.kind, alarm.ranges) == (AlarmKind.LOST, ranges((10, 11)))
    assert overtaken({("t", 0): 12}, {("t", 0): HeldOffsets(12, 100)}) == {}


def test_unrefined_rows_are_replayed_from_bronze() -> None:
    alarm = disagreement_alarm("temperature", AlarmKind.UNREFINED, PART, ranges((5, 5)))
    assert alarm.text == "1 record [5..5] in bronze, and in neither silver nor quarantine"
    assert alarm.command
    assert alarm.command.endswith("--source bronze")


#  1 2 3 . 5 6 . . 9   settled up to 6: 7 and 8 may still be on their way
def test_a_producers_gap_counts_once_what_follows_it_has_settled() -> None:
    sent = ranges((1, 3), (5, 6), (9, 9))
    assert producer_gaps(sent, ranges((1, 3), (5, 6))) == ranges((4, 4))
    assert producer_gaps(sent, sent) == ranges((4, 4), (7, 8))
    assert producer_gaps(sent, ()) == ()


#  an epoch goes on, or begins anew; 7 is missing between the second and the third
def test_a_gap_between_two_epochs_is_of_the_later_one() -> None:
    epochs = {10: ranges((3, 5)), 11: ranges((6, 6)), 12: ranges((8, 9)), 13: ranges((1, 2))}
    assert gaps_between(epochs, {10, 11, 12, 13}) == {12: ranges((7, 7))}
    assert gaps_between(epochs, {10, 11, 13}) == {}


def test_an_epoch_of_a_restored_backup_is_no_gap() -> None:
    epochs = {10: ranges((1, 90)), 11: ranges((51, 60)), 12: ranges((91, 95))}
    assert gaps_between(epochs, {10, 11, 12}) == {}


def test_a_producers_gap_is_a_named_alarm() -> None:
    alarm = sequence_alarm("plant-a", "gateway-1", 7, ranges((4, 4)))
    assert alarm.name == "sequence:plant-a/gateway-1/7"
    assert not ContinuityResult(parts=(), days=(), alarms=(alarm,)).is_whole


def test_one_marker_says_it_of_the_whole_topic() -> None:
    empty = {PART: ranges((5, 5)), Part("plant-a", "u", 0): ()}
    assert topics_with_empty_offsets(empty) == {("plant-a", "t")}
