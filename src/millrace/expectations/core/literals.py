"""Values as Spark SQL text. Whatever a suite holds, it stays a value."""

from __future__ import annotations

from datetime import UTC, date, datetime

_ESCAPES = {
    "\\": "\\\\",
    "'": "\\'",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\0": "\\u0000",
    # Spark fills in ${...} from its settings wherever it stands, also between quotes.
    "$": "\\u0024",
}


def identifier(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def text(value: str) -> str:
    return "'" + "".join(_ESCAPES.get(letter, letter) for letter in value) + "'"


def double(value: float) -> str:
    return f"{float(value)!r}D".upper()


def bigint(value: int) -> str:
    return f"{value}L"


def boolean(value: bool) -> str:
    return "true" if value else "false"


def timestamp(value: datetime) -> str:
    moment = value.astimezone(UTC).isoformat(timespec="microseconds")
    return f"TIMESTAMP '{moment}'"


def day(value: date) -> str:
    return f"DATE '{value.isoformat()}'"
