"""The law of a spool: what is answered as safe is in it, and once, whatever was refused."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.gateway.spool.core.bounds import AtBound, SpoolBounds
from millrace.gateway.spool.core.ledger import Heading, MessageLedger, Unkept
from millrace.gateway.spool.core.records import Draft, Record
from millrace.gateway.spool.io.committer import Committer, Outcome, ReceivedBatch
from millrace.gateway.spool.io.spool_files import Spool, bytes_of
from millrace.gateway.spool.io.spool_reader import Reader

SMALL = SpoolBounds(segment_bytes=1 << 18, total_bytes=1 << 19)


def numbered(origin: bytes, *numbers: int, size: int = 10) -> list[Draft]:
    return [Draft(b"t", None, b"%d;" % n + b"x" * size, origin, n) for n in numbers]


class Kept:
    """A committer on a spool of its own; each batch is answered before the next is submitted."""

    def __init__(self, folder: Path, at_bound: AtBound, *, waits: bool = True) -> None:
        self.spool = Spool(folder, SMALL, waits_for_missing=waits)
        self._answers: deque[Outcome] = deque()
        self._answered = threading.Semaphore(0)
        self._committer = Committer("lines", self.spool, at_bound, self._tell, lambda _: None)
        self._committer.start()

    def _tell(self, answers: list[tuple[ReceivedBatch, Outcome]]) -> None:
        for _, outcome in answers:
            self._answers.append(outcome)
            self._answered.release()

    def submit(self, drafts: list[Draft]) -> Outcome:
        self._committer.submit(ReceivedBatch(drafts, sum(map(bytes_of, drafts)), lambda *_: None))
        assert self._answered.acquire(timeout=10)
        return self._answers.popleft()

    def is_safe(self, drafts: list[Draft]) -> bool:
        outcome = self.submit(drafts)
        return outcome is not None and all(
            isinstance(one, Record) or one is Unkept.KNOWN for one in outcome
        )

    def fill(self) -> None:
        while self.submit([Draft(b"t", None, b"filler" * 5_000)]) is not None:
            pass

    def values(self) -> list[bytes]:
        reader, found = Reader(self.spool, 0), []
        while records := reader.read():
            found += [one.draft.value for one in records]
        reader.close()
        return [one for one in found if not one.startswith(b"filler")]

    def end(self) -> None:
        self._committer.end()
        self.spool.close()


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    made = Kept(tmp_path, AtBound.REFUSE)
    yield made
    made.end()


def test_what_was_refused_is_never_answered_as_safe_when_it_is_sent_again(kept):
    """The first part of a request finds no room, the second does; then all of it comes again."""
    kept.fill()
    first = numbered(b"key/request-1", 1, size=60_000)
    second = numbered(b"key/request-1", 2, 3, 4)
    for _ in range(2):
        assert not kept.is_safe(first)
        assert not kept.is_safe(second)
    assert kept.values() == []


def test_a_request_that_was_refused_is_kept_once_when_there_is_room(kept):
    parts = [numbered(b"key/request-1", 1), numbered(b"key/request-1", 2, 3)]
    kept.fill()
    refused = numbered(b"key/request-1", 1, size=60_000)
    assert not kept.is_safe(refused)
    kept.spool.trim(kept.spool.next_index)
    kept.spool.drop_oldest()
    assert all(kept.is_safe(part) for part in parts)
    assert all(kept.is_safe(part) for part in parts)
    assert [value[:2] for value in kept.values()] == [b"1;", b"2;", b"3;"]


def test_hello_hears_of_nothing_that_is_not_on_disk_yet(tmp_path, monkeypatch):
    """A device forgets what it hears is safe; a cut of power in that moment would lose it."""
    spool, seen = Spool(tmp_path, SMALL), []
    monkeypatch.setattr(
        "millrace.gateway.spool.io.spool_files.write_whole",
        lambda *_: seen.append(spool.last_of(b"plc")),
    )
    spool.keep(numbered(b"plc", 1, 2, 3))
    assert seen == [0]
    assert spool.last_of(b"plc") == 3
    spool.close()


def counts(ledger: MessageLedger, *numbers: int) -> list[int | Unkept]:
    """Which of them are kept, each in a group of its own."""
    found: list[int | Unkept] = []
    for number in numbers:
        (entry,) = ledger.enter(numbered(b"mqtt/1", number))
        ledger.settle()
        found.append(number if isinstance(entry, Record) else entry)
    return found


def of_publishers() -> MessageLedger:
    """Who numbers its messages does not hear what became of them."""
    return MessageLedger(Heading(epoch=1), waits_for_missing=False)


def test_a_publishers_message_that_was_refused_is_kept_when_it_comes_again():
    ledger = of_publishers()
    assert counts(ledger, 900, 902, 901, 901, 902) == [900, 902, 901, *[Unkept.KNOWN] * 2]
    assert counts(ledger, 5, 5) == [5, Unkept.KNOWN]


def test_behind_too_many_gaps_a_number_is_refused_and_not_called_known():
    ledger = of_publishers()
    odd = list(range(1, 101, 2))
    assert counts(ledger, *odd) == odd
    assert counts(ledger, 98, 98) == [98, Unkept.KNOWN]
    assert counts(ledger, 2, 3) == [Unkept.TOO_OLD] * 2


# A part of a request: whether there is room for it. Requests repeat until all parts are safe.
rooms = st.lists(st.booleans(), min_size=1, max_size=30)


@pytest.mark.generated
@given(parts=st.lists(st.integers(1, 5), min_size=1, max_size=6), rooms=rooms, waits=st.booleans())
def test_answered_implies_kept_and_kept_once_in_any_sequence_of_refusals(parts, rooms, waits):
    ledger = MessageLedger(Heading(epoch=1), waits_for_missing=waits)
    records: list[Record] = []
    turns = iter(rooms)
    has_room = True
    while has_room is not None:
        at = 1
        for size in parts:
            drafts = numbered(b"key/1", *range(at, at + size))
            at += size
            has_room = next(turns, None)
            if not has_room:
                continue
            entries = ledger.enter(drafts)
            ledger.settle()
            records += [one for one in entries if isinstance(one, Record)]
            answered = {
                draft
                for draft, one in zip(drafts, entries, strict=True)
                if isinstance(one, Record) or one is Unkept.KNOWN
            }
            assert answered <= {one.draft for one in records}
    assert len({one.draft for one in records}) == len(records)
    if waits:
        assert all(a.draft.origin_number < b.draft.origin_number for a, b in pairwise(records))
    again = MessageLedger(Heading(epoch=1))
    for one in records:
        again.take_over(one)
    assert again.heading() == ledger.heading()


@pytest.mark.generated
@settings(max_examples=15)
@given(
    sizes=st.lists(st.sampled_from([10, 30_000, 100_000]), min_size=1, max_size=8),
    retries=st.integers(1, 3),
    frees=st.lists(st.booleans(), max_size=24),
    waits=st.booleans(),
)
def test_a_committer_answers_as_safe_only_what_the_spool_has(sizes, retries, frees, waits):
    """Parts of one request, as often as they are sent again, while there is room and is not."""
    with TemporaryDirectory() as folder:
        kept = Kept(Path(folder), AtBound.REFUSE, waits=waits)
        kept.fill()
        turns, dropped, answered = iter(frees), 0, set()
        for _ in range(retries + 1):
            for number, size in enumerate(sizes, 1):
                if next(turns, False):
                    dropped += kept.spool.drop_oldest()
                part = numbered(b"key/1", number, size=size)
                if kept.is_safe(part):
                    answered.add(part[0].value)
        values = kept.values()
        kept.end()
        # What was there first went first.
        assert dropped > 1 or answered <= set(values)
        assert len(set(values)) == len(values)
