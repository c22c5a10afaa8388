"""Single fields of JSON messages, read without the rest of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from millrace.core.gateway.paths import names_in

Read = Callable[[bytes], str | int | float | None]


def field_reader(path: str) -> Read:
    """None where the message is no JSON, or has no such field, or one of another kind."""
    names = names_in(path)
    shape: Any = Any
    for name in reversed(names):
        shape = msgspec.defstruct("Message", [("found", shape, None)], rename={"found": name})
    decode = msgspec.json.Decoder(shape).decode

    def read(message: bytes) -> str | int | float | None:
        try:
            found = decode(message)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        for _ in names:
            found = None if found is None else found.found
        return found if isinstance(found, str | int | float) else None

    return read
