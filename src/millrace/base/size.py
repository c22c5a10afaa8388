"""Amounts of bytes as people write them: `512 KB`, `64 MB`, `10 GB`."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator

_UNITS = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_FORM = re.compile(r"\s*(?P<count>\d+(?:\.\d+)?)\s*(?P<unit>[A-Za-z]+)\s*")


def parse_size(text: object) -> int:
    if isinstance(text, int) and not isinstance(text, bool):
        return text
    match = _FORM.fullmatch(str(text))
    if match is None or match["unit"].upper() not in _UNITS:
        units = ", ".join(_UNITS)
        raise ValueError(f"{text!r} is no size; write a number and one of {units}, as '10 GB'")
    return int(float(match["count"]) * _UNITS[match["unit"].upper()])


def format_size(size: int) -> str:
    """To be read, not to be reckoned with: in the largest unit of which there is one at least."""
    unit, bytes_each = next((one for one in reversed(_UNITS.items()) if size >= one[1]), ("B", 1))
    return f"{size / bytes_each:.4g} {unit}"


Size = Annotated[int, BeforeValidator(parse_size)]
