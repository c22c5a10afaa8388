"""The judge of the matrix of faults: it has to find what it is there to find."""

from __future__ import annotations

import pytest

from benchmarks.faults.load import parse
from benchmarks.faults.tally import Count, Freshness, Message, Tally


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
