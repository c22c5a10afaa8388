"""Headers as the bytes they are, for the rare record with a name that is no UTF-8.

`Message.headers()` of confluent-kafka takes every name for UTF-8. Where one is not, it returns a
broken list and leaves an error behind, and the message has lost its headers by then: so ask
`unreadable` first, read such a message again, and its headers by `headers_of`.
`Producer.produce` takes no such names either (it crashes on them), so these records are sent by
`produce` below. Both ask librdkafka itself, by the pointers that the Python objects hold; a build
that keeps them elsewhere ends the program rather than to change a record. One limit is librdkafka's
own: a name with a NUL byte ends there.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_int64, c_size_t, c_void_p
from operator import methodcaller
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer, cimpl


class RawHeaders(list[tuple[bytes, bytes | None]]):
    """Headers with names as bytes."""


# Asked in C: the interpreter's own call of a method does not look whether it also raised, and the
# error comes up somewhere later, or the name is sent as `<NULL>`.
_ASK = methodcaller("headers")


def are_readable(message: Message) -> bool:
    """Whether `headers()` can read them; false: the message has lost its headers."""
    return not unreadable([message])


def unreadable(messages: Sequence[Message]) -> list[Message]:
    """Those that have names that are no UTF-8; they have lost their headers. `headers()` of all
    others may be called from here on."""
    found, done = [], 0
    while done < len(messages):
        asked: list[Any] = []
        try:
            asked.extend(map(_ASK, messages[done:]))
        except SystemError:
            found.append(messages[done + len(asked)])
        done += len(asked) + 1
    return found


def keep_bytes(message: Message) -> None:
    """From here on `headers()` returns RawHeaders."""
    kept: Any = headers_of(message)
    message.set_headers(kept)


def headers_of(message: Message) -> RawHeaders:
    """Of a message that was never asked for its headers."""
    handle = _headers_handle(message)
    found = RawHeaders()
    if not handle:
        return found
    name, value, size = c_char_p(), c_void_p(), c_size_t()
    while not _LIBRARY.rd_kafka_header_get_all(
        handle, len(found), byref(name), byref(value), byref(size)
    ):
        data = ctypes.string_at(value.value, size.value) if value.value else None
        found.append((name.value or b"", data))
    return found


def produce(
    producer: Producer,
    topic: str,
    value: bytes | None,
    key: bytes | None,
    partition: int,
    timestamp: int,
    headers: Sequence[tuple[bytes, bytes | None]],
) -> None:
    """As `Producer.produce` does, and with its exceptions; nobody is called with the outcome."""
    made = make_headers(headers)
    parts = (_Vu * 8)()
    _fill(parts[0], _TOPIC, text=topic.encode())
    _fill(parts[1], _PARTITION, number=partition)
    _fill(parts[2], _VALUE, data=value)
    _fill(parts[3], _KEY, data=key)
    _fill(parts[4], _TIMESTAMP, large=timestamp)
    _fill(parts[5], _FLAGS, number=_COPY)
    _fill(parts[6], _HEADERS, pointer=made)
    error = _LIBRARY.rd_kafka_produceva(_producer_handle(producer), parts, 7)
    if error:  # only what is sent is librdkafka's
        _LIBRARY.rd_kafka_headers_destroy(made)
        _raise(error)


class _Data(ctypes.Structure):
    _fields_ = (("pointer", c_char_p), ("size", c_size_t))


class _Content(ctypes.Union):
    _fields_ = (
        ("text", c_char_p),
        ("number", c_int32),
        ("large", c_int64),
        ("pointer", c_void_p),
        ("data", _Data),
        ("reserved", ctypes.c_char * 64),
    )


class _Vu(ctypes.Structure):
    """librdkafka's `rd_kafka_vu_t`, and the numbers of its kinds."""

    _fields_ = (("kind", c_int), ("content", _Content))


_TOPIC, _PARTITION, _VALUE, _KEY, _FLAGS, _TIMESTAMP, _HEADERS = 1, 3, 4, 5, 7, 8, 10
_COPY = 2


def _fill(one: _Vu, kind: int, **content: Any) -> None:
    one.kind = kind
    for name, value in content.items():
        if name == "data":
            value = _Data(value, 0 if value is None else len(value))
        setattr(one.content, name, value)


def make_headers(headers: Sequence[tuple[bytes, bytes | None]]) -> int:
    made = _LIBRARY.rd_kafka_headers_new(len(headers))
    for name, value in headers:
        size = 0 if value is None else len(value)
        _LIBRARY.rd_kafka_header_add(made, name, len(name), value, size)
    return int(made)


def _raise(error: int) -> None:
    code, text = _LIBRARY.rd_kafka_error_code(error), _LIBRARY.rd_kafka_error_string(error)
    fatal = bool(_LIBRARY.rd_kafka_error_is_fatal(error))
    _LIBRARY.rd_kafka_error_destroy(error)
    if code == KafkaError._QUEUE_FULL:  # noqa: SLF001 - its name
        raise BufferError(text.decode())
    raise KafkaException(KafkaError(code, text.decode(), fatal))


# Where confluent-kafka keeps them, counted in pointers from the start of its objects.
_MESSAGE_TOPIC, _MESSAGE_VALUE, _MESSAGE_KEY, _MESSAGE_HEADERS, C_HEADERS = range(2, 7)
_HANDLE = 2
POINTER_BYTES = ctypes.sizeof(c_void_p)


def _pointer(one: object, place: int) -> int | None:
    return c_void_p.from_address(id(one) + place * POINTER_BYTES).value


def _headers_handle(message: Message) -> int | None:
    whole = {
        _MESSAGE_TOPIC: id(message.topic()),
        _MESSAGE_VALUE: id(message.value()),
        _MESSAGE_KEY: id(message.key()),
    }
    if any(_pointer(message, place) not in (given, None) for place, given in whole.items()):
        raise _unknown()
    if _pointer(message, _MESSAGE_HEADERS):
        raise ValueError("this message was asked for its headers before")
    return _pointer(message, C_HEADERS)


def _producer_handle(producer: Producer) -> int:
    handle = _pointer(producer, _HANDLE)
    if not handle:
        raise _unknown()
    return handle


def _unknown() -> RuntimeError:
    return RuntimeError(
        "a header's name is no UTF-8, and this build of confluent-kafka is not one that Millrace"
        " can read such names with; install the version that uv.lock names"
    )


def _library() -> ctypes.CDLL:
    """The very librdkafka that confluent-kafka runs: found through what it is linked to."""
    library = ctypes.CDLL(cimpl.__file__)
    pointers = (POINTER(c_char_p), POINTER(c_void_p), POINTER(c_size_t))
    for name, result, arguments in (
        ("rd_kafka_header_get_all", c_int, (c_void_p, c_size_t, *pointers)),
        ("rd_kafka_headers_new", c_void_p, (c_size_t,)),
        ("rd_kafka_headers_destroy", None, (c_void_p,)),
        ("rd_kafka_header_add", c_int, (c_void_p, c_char_p, c_size_t, c_char_p, c_size_t)),
        ("rd_kafka_produceva", c_void_p, (c_void_p, POINTER(_Vu), c_size_t)),
        ("rd_kafka_error_code", c_int, (c_void_p,)),
        ("rd_kafka_error_string", c_char_p, (c_void_p,)),
        ("rd_kafka_error_is_fatal", c_int, (c_void_p,)),
        ("rd_kafka_error_destroy", None, (c_void_p,)),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


_LIBRARY = _library()
