"""A number that comes again: the same message, another one, or one that nobody remembers."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.gateway.mqtt.core.repetitions import Repetitions
from millrace.gateway.spool.core.bounds import SpoolBounds
from millrace.gateway.spool.core.contents import PLACES, ContentComparison, Contents
from millrace.gateway.spool.core.ledger import Heading, MessageLedger, Unkept, are_safe
from millrace.gateway.spool.core.origins import OriginState
from millrace.gateway.spool.core.records import Draft, Record
from millrace.gateway.spool.io.spool_files import Spool
from millrace.gateway.status.core.gateway_state import GatewayState, InputState

BOUNDS = SpoolBounds(segment_bytes=1 << 18, total_bytes=1 << 20)


def said(text: str, *numbers: int, origin: bytes = b"plc") -> list[Draft]:
    return [Draft(b"t", b"key", b"%s %d" % (text.encode(), n), origin, n) for n in numbers]


def test_a_message_with_a_number_of_another_is_not_taken_for_a_repetition():
    ledger = MessageLedger(Heading(epoch=1), waits_for_missing=False)
    assert all(isinstance(one, Record) for one in ledger.enter(said("mine", 1, 2, 3)))
    assert ledger.enter(said("mine", 2, 3)) == [Unkept.KNOWN] * 2
    found = ledger.enter(said("another's", 2, 4, 3))
    assert (found[0], found[2]) == (Unkept.OTHER, Unkept.OTHER)
    assert isinstance(found[1], Record)
    assert are_safe(found), "whoever publishes hears of nothing"
    key = said("mine", 2)[0]._replace(key=b"another")
    assert ledger.enter([key]) == [Unkept.OTHER]


def test_where_names_are_guarded_nothing_is_compared():
    ledger = MessageLedger(Heading(epoch=1))
    ledger.enter(said("mine", 1))
    ledger.settle()
    assert ledger.enter(said("another's", 1)) == [Unkept.KNOWN]


def test_what_the_newest_segment_holds_is_compared_after_a_start(tmp_path: Path):
    spool = Spool(tmp_path / "spool", BOUNDS, waits_for_missing=False)
    spool.keep(said("mine", 1, 2))
    spool.close()
    again = Spool(tmp_path / "spool", BOUNDS, waits_for_missing=False)
    assert again.keep([*said("mine", 1), *said("another's", 2)]) == [Unkept.KNOWN, Unkept.OTHER]
    again.close()


def test_the_memory_of_contents_is_of_one_size_and_the_newest_take_the_place_of_the_eldest():
    contents = Contents()
    size = contents.size_bytes
    assert size == 16 * PLACES
    for number in range(2 * PLACES):
        contents.note(b"plc", number, None, b"%d" % number)
    assert contents.size_bytes == size
    newest = 2 * PLACES - 1
    assert contents.compare(b"plc", newest, None, b"%d" % newest) is ContentComparison.SAME
    found = [contents.compare(b"plc", n, None, b"%d" % n) for n in range(PLACES)]
    assert ContentComparison.OTHER not in found
    assert found.count(ContentComparison.FORGOTTEN) > PLACES // 2


def test_a_number_that_nobody_remembers_is_told_apart():
    ledger = MessageLedger(
        Heading(epoch=1, origins={"plc": OriginState(last=100)}), waits_for_missing=False
    )
    assert ledger.enter(said("mine", 7)) == [Unkept.LONG_KNOWN]


def test_some_repetitions_that_nobody_remembers_are_none_too_many():
    repetitions = Repetitions(3)
    assert [repetitions.are_too_many("plc", at_s) for at_s in range(5)] == [
        *[False] * 3,
        True,
        True,
    ]
    assert not repetitions.are_too_many("other", 5)
    assert not repetitions.are_too_many("plc", 601), "those of long ago count no more"


@pytest.mark.parametrize(("kind", "words"), [("mqtt", "two publishers"), ("tcp", "two devices")])
def test_the_page_names_whoever_shares_a_name(kind, words):
    counts = {name: 0 for name, one in InputState.model_fields.items() if one.annotation is int}
    shared = InputState.model_validate(
        counts
        | {"name": "in", "kind": kind, "listen": "", "oldest_age_s": None, "contested": ("plc",)}
        | {"taken_per_s": 0, "delivered_per_s": 0}
    )
    (alarm,) = GatewayState(site="s", inputs=(shared,), obstacle="", refusals={}).alarms
    assert words in alarm
    assert alarm.endswith(": plc")
