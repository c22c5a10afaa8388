"""Spans of time as people write them: `2 seconds`, `30 days`, `2 years`."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer

_SECONDS = {
    "millisecond": 0.001,
    "second": 1,
    "minute": 60,
    "hour": 3_600,
    "day": 86_400,
    "week": 7 * 86_400,
    "year": 365 * 86_400,
}
_SHORT = {
    "ms": "millisecond",
    "s": "second",
    "sec": "second",
    "m": "minute",
    "min": "minute",
    "h": "hour",
    "d": "day",
    "w": "week",
    "y": "year",
}
_FORM = re.compile(r"\s*(?P<count>\d+(?:\.\d+)?)\s*(?P<unit>[a-z]*)\s*", re.IGNORECASE)


def parse_duration(text: object) -> timedelta:
    """Read a span; the error says what would have been right."""
    if isinstance(text, timedelta):
        return text
    match = _FORM.fullmatch(str(text))
    unit = match["unit"].lower().removesuffix("s") if match else ""
    if match is None or unit not in _SECONDS:
        raise ValueError(f"{text!r} is not a duration; {_way_out(match)}")
    span = timedelta(seconds=float(match["count"]) * _SECONDS[unit])
    if span <= timedelta(0):
        raise ValueError(f"{text!r} is no time at all; write a duration above zero")
    return span


def _way_out(match: re.Match[str] | None) -> str:
    if match is None:
        return "write a number and a unit, such as '2 seconds' or '30 days'"
    unit = match["unit"].lower()
    if unit in _SHORT:
        return f"write '{match['count']} {_SHORT[unit]}s'"
    if not unit:
        return f"write its unit too, such as '{match['count']} seconds'"
    return f"units are {', '.join(f'{name}s' for name in _SECONDS)}"


def format_duration(span: timedelta) -> str:
    """Write a span back in the largest unit that divides it."""
    seconds = span.total_seconds()
    for name, size in reversed(_SECONDS.items()):
        count = seconds / size
        if count >= 1 and count == int(count):
            return f"{int(count)} {name}{'' if count == 1 else 's'}"
    return f"{seconds:g} seconds"


Duration = Annotated[
    timedelta,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration, return_type=str),
]
