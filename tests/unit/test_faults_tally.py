"""The judge of the matrix of faults: it has to find what it is there to find."""

from __future__ import annotations

from pathlib import Path

import pytest
from arro3.core import Array, DataType, Table
from deltalake import write_deltalake

from benchmarks.faults.old_logs import numbered
from benchmarks.faults.stands.load import parse
from benchmarks.faults.stands.tally import Count, Freshness, Message, Tally
from benchmarks.faults.tables import doubled_in, in_bronze, in_silver


@pytest.mark.parametrize(
    ("came", "expected"),
    [
        ([0, 1, 2], Count(0, 0, 0)),
        ([0, 2], Count(1, 0, 0)),
        ([0, 1, 1, 2], Count(0, 1, 0)),
        ([0, 2, 1], Count(0, 0, 1)),
        ([], Count(3, 0, 0)),
    ],
    ids=["all", "lost", "doubled", "disordered", "nothing"],
)
def test_what_is_wrong_is_counted(came: list[int], expected: Count) -> None:
    tally = Tally()
    for number in came:
        tally.see(Message("k", number, 0.0))
    assert tally.judge({"k": 3}) == expected


def test_only_what_the_fault_destroyed_is_forgiven() -> None:
    tally = Tally()
    tally.see(Message("k", 0, 0.0))
    assert tally.judge({"k": 3}, {("k", 1)}) == Count(1, 0, 0)


def test_recovery_ends_when_the_last_key_is_fresh_and_stays_so() -> None:
    fresh = Freshness(["a", "b"], now_s=0.0)
    for now_s in range(1, 10):
        fresh.hear(Message("a", now_s, float(now_s)), float(now_s))
        if now_s > 6:
            fresh.hear(Message("b", now_s, float(now_s)), float(now_s))
        fresh.look(float(now_s))
    assert fresh.recovery_s(ended_s=2.0) == 4.0
    assert fresh.silence_s == 1.0


@pytest.mark.parametrize("value", [None, b"", b"\x00\xff", b"HELLO", b'{"kind":1}'])
def test_what_is_not_of_the_load_is_passed_over(value: bytes | None) -> None:
    assert parse(value) is None


def test_a_message_of_the_load_is_read_as_it_was_made() -> None:
    assert parse(b'{"id":"d1k0","n":17,"t":5.2500}') == Message("d1k0", 17, 5.25)


def test_a_deleted_topics_messages_are_read_from_what_kafka_says_of_its_files() -> None:
    dumped = [
        b"Log starting offset: 0",
        b"baseOffset: 0 lastOffset: 1 count: 2 payload: none",
        b'| offset: 0 keySize: 4 headerKeys: [] key: d0k1 payload: {"id":"d0k1","n":7,"t":1.5}',
        b'| offset: 1 keySize: 4 headerKeys: [] key: x payload: {"id":"another","n":8}',
    ]
    assert set(numbered(dumped)) == {("d0k1", 7)}


def test_what_a_table_lacks_has_twice_or_out_of_order_is_found(tmp_path: Path) -> None:
    """Rows of two batches: the second has a message that came before, and the place of another."""
    numbers, offsets, batches = [0, 2, 1, 2], [0, 1, 2, 1], [1, 1, 2, 2]
    columns = {
        "id": Array(["d0k0"] * 4, DataType.string()),
        "n": Array(numbers, DataType.int64()),
        "value": Array([b'{"id":"d0k0","n":%d,"t":1.5}' % n for n in numbers], DataType.binary()),
        "topic_id": Array(["a"] * 4, DataType.string()),
        "partition": Array([0] * 4, DataType.int32()),
        "offset": Array(offsets, DataType.int64()),
        "ingested_at": Array(batches, DataType.int64()),
    }
    write_deltalake(str(tmp_path), Table.from_pydict(columns))
    assert in_silver(str(tmp_path)).judge({"d0k0": 4}) == Count(lost=1, doubled=1, disordered=1)
    assert in_bronze(str(tmp_path)) == {("d0k0", 0), ("d0k0", 1), ("d0k0", 2)}
    assert doubled_in(str(tmp_path)) == Count(lost=0, doubled=1, disordered=0)
