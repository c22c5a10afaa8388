"""Messages in bytes that come in pieces of any size."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.gateway.inputs.core import framing as module
from millrace.gateway.inputs.core.framing import Framing, LengthPrefixed, Lines

MOST = 10


def fed(framing: Framing, pieces: list[bytes]) -> list[bytes | None]:
    return [message for piece in pieces for message in framing.feed(piece)]


def prefixed(message: bytes) -> bytes:
    return len(message).to_bytes(4, "big") + message


@pytest.mark.parametrize(
    ("data", "messages"),
    [
        (b"one\ntwo\n", [b"one", b"two"]),
        (b"one\r\ntwo\r\n", [b"one", b"two"]),
        (b"\n\n\none\n\n", [b"one"]),
        (b"\xff\x00\x80\n", [b"\xff\x00\x80"]),
        (b"exactly 10\n", [b"exactly 10"]),
        (b"exactly 10\r\n", [b"exactly 10"]),
        (b"11 is more!\nnext\n", [None, b"next"]),
        (b"a" * 10_000 + b"\nnext\n", [None, b"next"]),
        (b"not ended", []),
    ],
    ids=repr,
)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 20_000])
def test_lines_are_the_same_however_they_are_cut(data, messages, size):
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    assert fed(Lines(MOST), pieces) == messages


@pytest.mark.parametrize(
    ("data", "messages"),
    [
        (prefixed(b"one") + prefixed(b"two"), [b"one", b"two"]),
        (prefixed(b"with\nlf"), [b"with\nlf"]),
        (prefixed(b""), [b""]),
        (prefixed(b"exactly 10"), [b"exactly 10"]),
        (prefixed(b"eleven long") + prefixed(b"next"), [None, b"next"]),
        (prefixed(b"a" * 9_999) + prefixed(b"next"), [None, b"next"]),
        (prefixed(b"cut short")[:-1], []),
    ],
    ids=lambda value: repr(value)[:24],
)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 20_000])
def test_prefixed_messages_are_the_same_however_they_are_cut(data, messages, size):
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    assert fed(LengthPrefixed(MOST), pieces) == messages


@pytest.mark.parametrize("framing", [Lines(MOST), LengthPrefixed(MOST)])
def test_what_has_begun_is_known(framing):
    assert not framing.is_within
    framing.feed(b"abc")
    assert framing.is_within


def test_a_line_that_is_too_long_takes_no_memory():
    lines = Lines(MOST)
    for _ in range(1_000):
        lines.feed(b"a" * 1_000)
    assert len(lines._begun) <= MOST  # noqa: SLF001 - nothing else tells
    assert lines.feed(b"\nnext\n") == [b"next"]


class Counted(bytearray):
    """Counts what is copied into any of its kind, out of it, and when it is looked through."""

    copied = 0

    def extend(self, data: Any) -> None:
        Counted.copied += len(data)
        super().extend(data)

    def __iadd__(self, data: Any) -> Counted:
        self.extend(data)
        return self

    def __bytes__(self) -> bytes:
        Counted.copied += len(self)
        return bytes(memoryview(self))

    def __add__(self, data: Any) -> bytearray:
        Counted.copied += len(self) + len(data)
        return bytearray(self) + data

    def find(self, *of: Any) -> int:
        Counted.copied += len(self)
        return super().find(*of)


@pytest.mark.parametrize("kind", [Lines, LengthPrefixed])
def test_a_long_message_in_pieces_is_copied_twice_and_no_more(kind, monkeypatch):
    """However many pieces it comes in: what has begun is neither copied nor read again."""
    size, piece = 4 << 20, 1 << 10
    monkeypatch.setattr(module, "bytearray", Counted, raising=False)
    Counted.copied = 0
    framing = kind(size)
    message = b"x" * size
    data = message + b"\n" if kind is Lines else prefixed(message)
    pieces = [data[at : at + piece] for at in range(0, len(data), piece)]
    copied_in_steps = []
    found = []
    for one in pieces[:-1]:
        before = Counted.copied
        found += framing.feed(one)
        copied_in_steps.append(Counted.copied - before)
    assert max(copied_in_steps) <= 2 * piece
    assert framing.begun_bytes > size - 2 * piece
    assert found + framing.feed(pieces[-1]) == [message]
    assert size <= Counted.copied <= 2 * size + piece
    assert framing.begun_bytes == 0


@pytest.mark.generated
@given(st.lists(st.binary(max_size=12), max_size=6), st.data())
def test_any_cut_of_any_messages_gives_the_same(messages, data):
    """As all of it at once does, and as they were where none is too long."""
    for kind, stream in (
        (Lines, b"".join(one + b"\n" for one in messages)),
        (LengthPrefixed, b"".join(map(prefixed, messages))),
    ):
        cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)))))
        pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
        assert fed(kind(MOST), pieces) == kind(MOST).feed(stream)
        framing = kind(MOST)
        assert all(
            framing.begun_bytes <= MOST + 4 for one in pieces if framing.feed(one) is not None
        )
