"""Single fields of JSON messages, read without the rest of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from millrace.core.gateway.paths import names_in

Found = str | int | float | None
Read = Callable[[bytes], Found]
ReadSeveral = Callable[[bytes], tuple[Found, ...]]


def field_reader(path: str) -> Read:
    """None where the message is no JSON, or has no such field, or one of another kind."""
    names = names_in(path)
    shape: Any = Any
    for name in reversed(names):
        shape = msgspec.defstruct("Message", [("found", shape, None)], rename={"found": name})
    decode = msgspec.json.Decoder(shape).decode

    def read(message: bytes) -> Found:
        try:
            found = decode(message)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        for _ in names:
            found = None if found is None else found.found
        return found if isinstance(found, str | int | float) else None

    return read


def fields_reader(paths: Sequence[str]) -> ReadSeveral:
    """As several readers; where no path goes deep, all in one pass."""
    if any(len(names_in(path)) > 1 for path in paths):
        readers = [field_reader(path) for path in paths]
        return lambda message: tuple(read(message) for read in readers)
    names = [names_in(path)[0] for path in paths]
    own = {name: f"found_{number}" for number, name in enumerate(dict.fromkeys(names))}
    shape = msgspec.defstruct(
        "Message",
        [(field, Any, None) for field in own.values()],
        rename={field: name for name, field in own.items()},
    )
    decode = msgspec.json.Decoder(shape).decode
    pick = attrgetter(*(own[name] for name in names))
    nothing = (None,) * len(names)

    def read(message: bytes) -> tuple[Found, ...]:
        try:
            found = pick(decode(message))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return nothing
        return tuple(one if isinstance(one, str | int | float) else None for one in found)

    return read
