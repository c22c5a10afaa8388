"""A spool's bytes after whatever happened to them."""

from __future__ import annotations

import pytest

from millrace.gateway.spool.core.ledger import Heading, MessageLedger, Unkept
from millrace.gateway.spool.core.origins import OriginState
from millrace.gateway.spool.core.records import Draft, Record, decode_at, encode
from millrace.gateway.spool.core.segments import (
    Hole,
    decode_heading,
    encode_heading,
    find_tail,
    heading_bytes,
    read_records,
)

HEADING = encode_heading(Heading(epoch=7))
BEGIN = len(HEADING)


def group(ledger: MessageLedger, *values: bytes) -> list[bytes]:
    drafts = [Draft(b"topic", b"key", value) for value in values]
    entries = ledger.enter(drafts)
    return [encode(entry) for entry in entries if isinstance(entry, Record)]


def segment(*groups: list[bytes], room: int = 4_096) -> bytes:
    data = HEADING + b"".join(record for one in groups for record in one)
    return data.ljust(room, b"\0")


def values(data: bytes) -> list[bytes | None]:
    """None stands for a hole."""
    found = read_records(data, BEGIN)
    return [None if isinstance(one, Hole) else one[0].draft.value for one in found]


@pytest.mark.parametrize("key", [None, b"", b"k", b"k" * 65_534], ids=lambda k: str(k)[:5])
@pytest.mark.parametrize("value", [b"", b"v", bytes(range(256)) * 300], ids=len)
def test_a_record_is_read_as_it_was_written(key, value):
    record = Record(5, 2, 9, 1_234, Draft(b"topic", key, value, b"plc-1", 77))
    data = b"before" + encode(record) + b"behind"
    assert decode_at(data, 6) == (record, len(data) - 6)
    assert record.group == 3


@pytest.mark.parametrize("at", range(0, 80, 7))
def test_no_bit_of_a_record_can_change_unnoticed(at):
    data = bytearray(encode(Record(5, 2, 9, 1_234, Draft(b"topic", b"key", b"value" * 5))))
    data[at % len(data)] ^= 0x10
    assert decode_at(bytes(data), 0) is None


def test_a_heading_is_read_as_it_was_written():
    plc = OriginState(last=8, serial=5, floor=1, gaps=((3, 4),))
    heading = Heading(epoch=3, next_index=9, next_numbers={"t": 4}, origins={"plc": plc})
    data = encode_heading(heading)
    assert decode_heading(data + b"records") == heading
    assert heading_bytes(data) == len(data)
    assert decode_heading(data[:-1] + b"?") is None


def test_the_tail_of_a_whole_segment_is_its_last_record():
    ledger = MessageLedger(Heading(epoch=7))
    data = segment(group(ledger, b"a", b"b"), group(ledger, b"c"))
    tail = find_tail(data, BEGIN, 0)
    assert not tail.is_torn
    assert values(data[: tail.end]) == [b"a", b"b", b"c"]


#  group 1     group 2
#  [a] [b]     [c] [d] [e]          what is cut, and what is left of it
@pytest.mark.parametrize(
    ("cut", "left"),
    [
        ([4], [b"a", b"b", b"c", b"d"]),
        ([3, 4], [b"a", b"b", b"c"]),
        ([3], [b"a", b"b", b"c"]),  # e came to the disk before d
        ([2], [b"a", b"b"]),
        ([2, 3, 4], [b"a", b"b"]),
    ],
)
def test_a_write_that_was_cut_short_is_forgotten_from_its_first_hole_on(cut, left):
    ledger = MessageLedger(Heading(epoch=7))
    records = [*group(ledger, b"a", b"b"), *group(ledger, b"c", b"d", b"e")]
    for number in cut:
        records[number] = bytes(len(records[number]))
    data = segment(records)
    tail = find_tail(data, BEGIN, 0)
    assert values(data[: tail.end]) == left
    assert tail.is_torn == ((3 in cut and 4 not in cut) or cut == [2])


@pytest.mark.parametrize("damaged", [0, 1, 2])
def test_what_was_safe_and_is_damaged_takes_nothing_behind_it_along(damaged):
    ledger = MessageLedger(Heading(epoch=7))
    records = [record for value in (b"a", b"b", b"c", b"d") for record in group(ledger, value)]
    records[damaged] = b"?" * len(records[damaged])
    data = segment(records)
    tail = find_tail(data, BEGIN, 0)
    wanted: list[bytes | None] = [b"a", b"b", b"c", b"d"]
    wanted[damaged] = None
    assert values(data[: tail.end]) == wanted


def test_numbers_go_on_for_each_topic():
    ledger = MessageLedger(Heading(epoch=7, next_index=10, next_numbers={"a": 5}))
    entries = ledger.enter([Draft(topic, None, b"") for topic in (b"a", b"b", b"a")])
    numbers = [(entry.serial, entry.number) for entry in entries if isinstance(entry, Record)]
    assert numbers == [(10, 5), (11, 1), (12, 6)]


def from_plc(*numbers: int) -> list[Draft]:
    return [Draft(b"t", None, b"", b"plc", number) for number in numbers]


def test_what_an_origin_has_sent_before_is_known():
    ledger = MessageLedger(Heading(epoch=7))
    ledger.enter(from_plc(1, 2, 3))
    ledger.settle()
    entries = ledger.enter(from_plc(2, 3, 4))
    assert entries[:2] == [Unkept.KNOWN, Unkept.KNOWN]
    assert isinstance(entries[2], Record)
    ledger.settle()
    assert ledger.last_of(b"plc") == 4


def test_nothing_is_kept_behind_a_gap_of_an_origin():
    ledger = MessageLedger(Heading(epoch=7))
    ledger.enter(from_plc(1))
    ledger.settle()
    assert ledger.enter(from_plc(3, 4)) == [Unkept.TOO_EARLY] * 2
    assert ledger.last_of(b"plc") == 1


@pytest.mark.parametrize("waits", [True, False])
def test_an_unknown_origin_begins_with_1_where_it_asks_and_else_where_it_likes(waits):
    """Who asks has heard that nothing is known of it; who does not may have begun long ago."""
    ledger = MessageLedger(Heading(epoch=7), waits_for_missing=waits)
    assert isinstance(ledger.enter(from_plc(900))[0], Record) != waits
    assert isinstance(ledger.enter(from_plc(1))[0], Record)


def test_no_clock_makes_an_origin_forgotten():
    ledger = MessageLedger(Heading(epoch=7))
    ledger.enter(from_plc(1))
    ledger.time_ms += 365 * 86_400_000
    ledger.enter([Draft(b"t", None, b"", b"other", 1)])
    ledger.settle()
    assert set(ledger.heading().origins) == {"plc", "other"}


def test_beyond_a_bound_who_was_silent_for_longest_is_forgotten():
    ledger = MessageLedger(Heading(epoch=7))
    names = [b"key/%d" % number for number in range(50_001)]
    ledger.enter([Draft(b"t", None, b"", name, 1) for name in names])
    ledger.enter([Draft(b"t", None, b"", names[0], 2)])
    ledger.settle()
    assert set(ledger.heading().origins) == {name.decode() for name in names} - {"key/1"}


def test_a_ledger_made_from_its_records_is_the_same():
    ledger, again = MessageLedger(Heading(epoch=7)), MessageLedger(Heading(epoch=7))
    drafts = [*from_plc(1, 2, 3), Draft(b"u", b"k", b"v")]
    for entry in ledger.enter(drafts):
        assert isinstance(entry, Record)
        again.take_over(entry)
    ledger.settle()
    assert again.heading() == ledger.heading()
