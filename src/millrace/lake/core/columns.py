"""The columns of a silver table, as a pipeline's file declares them."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints

from millrace.base.model import Frozen

# As Spark SQL names them, and the same in every pipeline, whatever the format of its messages.
TYPES = ("string", "boolean", "int", "bigint", "double", "timestamp", "date")
# One bit each in a row's masks.
MOST = 63
RESERVED = {
    *("site", "topic", "topic_id", "partition", "offset", "kafka_time", "ingested_at", "day"),
    *("event_time", "latency_ms", "payload"),
}
_ALIASES = {"long": "bigint", "integer": "int", "bool": "boolean", "float": "double"}
_PATH = re.compile(r"\$(\.[A-Za-z_][A-Za-z0-9_-]*)+")

ColumnName = Annotated[
    str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$", min_length=1, max_length=64)
]


def _check_type(name: str) -> str:
    kind = _ALIASES.get(name, name)
    if kind not in TYPES:
        raise ValueError(f"there is no type {name!r}; types are {', '.join(TYPES)}")
    return kind


def _check_path(text: str) -> str:
    if not _PATH.fullmatch(text):
        raise ValueError(f"{text!r} names no field; write such as $.temperature or $.meta.room")
    return text


class ColumnSpec(Frozen):
    """One `name: {type: ..., from: ..., required: ...}` line."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    type: Annotated[str, AfterValidator(_check_type)]
    source: Annotated[str, AfterValidator(_check_path), Field(alias="from")]
    required: bool = False

    @property
    def path(self) -> tuple[str, ...]:
        """The field's names, outermost first."""
        return tuple(self.source.split(".")[1:])


class Column(Frozen):
    """A column of the silver table and where in a message it comes from."""

    name: str
    type: str
    path: tuple[str, ...]
    required: bool


def check_columns(
    columns: dict[str, ColumnSpec], event_time: str | None, suite: str | None
) -> None:
    """Raises ValueError where the declarations do not fit each other."""
    taken = [name for name in columns if name in RESERVED]
    if taken:
        raise ValueError(
            f"columns: {taken[0]!r} is a column of every silver table; take another name"
        )
    _check_paths(columns)
    if len(columns) > MOST:
        raise ValueError(f"columns: {len(columns)} are more than {MOST}; the rest is in payload")
    if event_time and (event_time not in columns or columns[event_time].type != "timestamp"):
        times = [name for name, column in columns.items() if column.type == "timestamp"]
        raise ValueError(
            f"event_time={event_time!r} is no timestamp column; there are: {times or 'none'}"
        )
    if suite and not columns:
        raise ValueError("quality needs columns: a pipeline without them has no silver table")


def _check_paths(columns: dict[str, ColumnSpec]) -> None:
    whole = {spec.source: name for name, spec in columns.items()}
    for name, spec in columns.items():
        for depth in range(1, len(spec.path)):
            outer = ".".join(("$", *spec.path[:depth]))
            if outer in whole:
                raise ValueError(
                    f"columns: {name!r} comes from inside {outer}, which {whole[outer]!r} takes"
                    " as a single value; a field is one or the other"
                )


def resolve_columns(columns: dict[str, ColumnSpec]) -> tuple[Column, ...]:
    return tuple(
        Column(name=name, type=spec.type, path=spec.path, required=spec.required)
        for name, spec in columns.items()
    )


def resolve_event_time(columns: dict[str, ColumnSpec], named: str | None) -> str | None:
    """The one that is named, or the only timestamp; with none or several, the broker's time."""
    times = [name for name, column in columns.items() if column.type == "timestamp"]
    return named or (times[0] if len(times) == 1 else None)
