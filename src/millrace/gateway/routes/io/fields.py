"""Single fields of JSON messages, read without the rest of them.

Whatever is wrong with a message has one outcome: it has no such field.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from millrace.gateway.routes.core.field_paths import names_in

Found = str | int | float | None
Read = Callable[[bytes], Found]
ReadSeveral = Callable[[bytes], tuple[Found, ...]]
# No list and no object, which would be built in memory only to be thrown away.
_LEAF = str | int | float | bool | None
# Of msgspec, of UTF-8, of numbers without end: all but the last are ValueErrors.
_UNREADABLE = (ValueError, OverflowError, RecursionError)


def field_reader(path: str) -> Read:
    """None where the message is no JSON, or has no such field, or one of another kind."""
    names = names_in(path)
    shape: Any = _LEAF
    for name in reversed(names):
        shape = msgspec.defstruct(
            "Message", [("found", shape if shape is _LEAF else shape | None, None)],
            rename={"found": name},
        )  # fmt: skip
    decode = _decoder(shape)

    def read(message: bytes) -> Found:
        found = decode(message)
        for _ in names:
            found = None if found is None else found.found
        value: Found = found
        return value

    return read


def fields_reader(paths: Sequence[str]) -> ReadSeveral:
    """As several readers; where no path goes deep, all in one pass."""
    readers = [field_reader(path) for path in paths]

    def read_each(message: bytes) -> tuple[Found, ...]:
        return tuple(read(message) for read in readers)

    if any(len(names_in(path)) > 1 for path in paths):
        return read_each
    names = [names_in(path)[0] for path in paths]
    own = {name: f"found_{number}" for number, name in enumerate(dict.fromkeys(names))}
    shape = msgspec.defstruct(
        "Message",
        [(field, _LEAF, None) for field in own.values()],
        rename={field: name for name, field in own.items()},
    )
    decode = _decoder(shape)
    pick = attrgetter(*(own[name] for name in names))

    def read(message: bytes) -> tuple[Found, ...]:
        found = decode(message)
        # One field of another kind takes none of the others along.
        return read_each(message) if found is None else pick(found)

    return read


def text_of(found: Found) -> str | None:
    """A field's value as text, where it is text or a number."""
    if found is None or isinstance(found, bool):
        return None
    return found if isinstance(found, str) else str(found)


def _decoder(shape: Any) -> Callable[[bytes], Any]:
    """The one place that decodes. None: there is nothing of this shape."""
    decode = msgspec.json.Decoder(shape).decode

    def decoded(message: bytes) -> Any:
        try:
            return decode(message)
        except _UNREADABLE:
            return None

    return decoded
