"""Messages in bytes that come in pieces of any size."""

from __future__ import annotations

import pytest

from millrace.core.gateway.framing import Framing, LengthPrefixed, Lines

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
