"""Fields of messages, as a gateway's file names them."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

_PATH = re.compile(r"\$(\.[A-Za-z_][A-Za-z0-9_-]*)+")


def _check_path(text: str) -> str:
    if not _PATH.fullmatch(text):
        raise ValueError(f"{text!r} names no field; write such as $.sensor_id or $.meta.kind")
    return text


FieldPath = Annotated[str, AfterValidator(_check_path)]


def names_in(path: str) -> tuple[str, ...]:
    """Outermost first."""
    return tuple(path.split(".")[1:])
