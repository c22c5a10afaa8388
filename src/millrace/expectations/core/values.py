"""What a value in a suite must look like to be compared with a column, and its SQL."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

from millrace.expectations.core import literals

NUMBERS = ("int", "bigint", "double")
ORDERED = (*NUMBERS, "timestamp", "date")

# Python reads more than this, and Great Expectations takes some of that for numbers.
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_EXAMPLES = {
    "int": "a whole number",
    "bigint": "a whole number that fits in 64 bits",
    "double": "a number that a double holds exactly",
    "string": "text",
    "boolean": "true or false",
    "timestamp": "a time with its zone, such as '2025-01-31T08:00:00Z'",
    "date": "a date, such as '2025-01-31'",
}


def member(value: Any, kind: str) -> str:
    """One value of a set; raises ValueError where no row of such a column could equal it."""
    try:
        return _MEMBERS[kind](value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{value!r} is not {_EXAMPLES[kind]}, as the column is {kind}") from None


def bound(value: Any, kind: str) -> str:
    """A limit. Great Expectations compares numbers as doubles, so this does it too."""
    return member(value, "double" if kind in NUMBERS else kind)


def order(value: Any) -> Any:
    """Something by which two limits of one kind can be compared."""
    return _moment(value) if isinstance(value, str) and _TIMESTAMP.fullmatch(value) else value


def _whole(bits: int) -> Callable[[Any], str]:
    def convert(value: Any) -> str:
        if type(value) is not int or not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
            raise ValueError
        return literals.bigint(value)

    return convert


def _double(value: Any) -> str:
    if isinstance(value, bool) or float(value) != value:
        raise ValueError
    return literals.double(value)


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return literals.text(value)


def _boolean(value: Any) -> str:
    if not isinstance(value, bool):
        raise TypeError
    return literals.boolean(value)


def _moment(value: str) -> datetime:
    if not _TIMESTAMP.fullmatch(value):
        raise ValueError
    return datetime.fromisoformat(value).astimezone(UTC)


def _day(value: str) -> date:
    if not _DATE.fullmatch(value):
        raise ValueError
    return date.fromisoformat(value)


_MEMBERS: dict[str, Callable[[Any], str]] = {
    "int": _whole(32),
    "bigint": _whole(64),
    "double": _double,
    "string": _string,
    "boolean": _boolean,
    "timestamp": lambda value: literals.timestamp(_moment(value)),
    "date": lambda value: literals.day(_day(value)),
}
