"""Header names that are no UTF-8, as a client in C may send them."""

from __future__ import annotations

import ctypes
from typing import Any

from confluent_kafka import Message

from millrace.gateway.delivery.io.topic_poll import _headers_of
from millrace.kafka.io import header_bytes
from millrace.kafka.io.header_bytes import headers_of, keep_bytes, unreadable

ODD = [(b"n\xff\xfe", b"1"), (b"plain", None), (b"\xc3\x28", b"")]
PLAIN = [(b"millrace-seq", b"7"), (b"\xc3\xa9", None)]


def message(headers: list[tuple[bytes, bytes | None]]) -> Any:
    """As it comes from a broker: its headers are librdkafka's, and nobody asked for them yet."""
    made = Message(topic="t", partition=1, offset=2, key=b"k", value=b"v")
    place = id(made) + header_bytes.C_HEADERS * header_bytes.POINTER_BYTES
    ctypes.c_void_p.from_address(place).value = header_bytes.make_headers(headers)
    return made


def test_names_stay_the_bytes_they_are():
    assert headers_of(message(ODD)) == ODD
    assert headers_of(message([])) == []


def test_those_that_cannot_be_read_as_text_are_found_among_all_others():
    given = [message(one) for one in (PLAIN, ODD, PLAIN, ODD, ODD, PLAIN)]
    assert unreadable(given) == [given[1], given[3], given[4]]
    assert given[5].headers() == [("millrace-seq", b"7"), ("\u00e9", None)]
    assert unreadable([]) == []


def test_what_is_kept_as_bytes_is_given_as_bytes_ever_after():
    one = message(ODD)
    keep_bytes(one)
    assert one.headers() == ODD
    assert unreadable([one]) == []


def test_the_gateway_looks_past_records_of_others_with_such_names():
    """Again and again: the interpreter calls differently what it has called before."""
    for _ in range(100):
        assert _headers_of(message(ODD)) == []
    assert _headers_of(message(PLAIN)) == [("millrace-seq", b"7")]
