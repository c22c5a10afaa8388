"""Silver and quarantine: every bronze row is in one of the two, under the same coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from millrace.base.errors import MillraceError
from millrace.lake.core.columns import Column

Schema = tuple[tuple[str, str], ...]

COORDINATES = ("site", "topic", "topic_id", "partition", "offset")
PARTITION_BY = ("day",)

_FROM: Schema = (
    ("site", "string"),
    ("topic", "string"),
    ("topic_id", "string"),
    ("partition", "int"),
    ("offset", "bigint"),
    ("kafka_time", "timestamp"),
)
# The rest of silver's own columns; the declared ones stand before them.
_AFTER: Schema = (
    ("payload", "variant"),
    ("latency_ms", "bigint"),
    ("ingested_at", "timestamp"),
    ("day", "date"),
)
QUARANTINE: Schema = (
    *_FROM,
    ("key", "binary"),
    ("headers", "array<struct<key:string,value:binary>>"),
    ("value", "binary"),
    ("stage", "string"),
    ("reasons", "array<string>"),
    ("ingested_at", "timestamp"),
    ("day", "date"),
)
# Delta keeps no bounds of these, and refuses to be told to.
_UNCOUNTED = ("variant", "boolean")
_COMMON = {
    "delta.enableChangeDataFeed": "true",
    "delta.logRetentionDuration": "interval 2 days",
    # Spark makes no table whose files outlive the log that names them.
    "delta.deletedFileRetentionDuration": "interval 2 days",
}
# Other than bronze's and than each other's: a checkpoint takes a second, and three take three.
_SILVER_INTERVAL, _QUARANTINE_INTERVAL = "110", "120"
QUARANTINE_PROPERTIES = {
    **_COMMON,
    "delta.checkpointInterval": _QUARANTINE_INTERVAL,
    "delta.dataSkippingStatsColumns": ",".join(
        (*COORDINATES, "kafka_time", "stage", "ingested_at")
    ),
}


def silver_schema(columns: Sequence[Column]) -> Schema:
    declared = tuple((column.name, column.type) for column in columns)
    return (*_FROM, ("event_time", "timestamp"), *declared, *_AFTER)


def silver_properties(columns: Sequence[Column]) -> dict[str, str]:
    counted = [
        name
        for name, kind in silver_schema(columns)
        if kind not in _UNCOUNTED and name not in PARTITION_BY
    ]
    return {
        **_COMMON,
        "delta.checkpointInterval": _SILVER_INTERVAL,
        "delta.dataSkippingStatsColumns": ",".join(counted),
    }


class IncompatibleTableError(MillraceError):
    """What is declared and what is there cannot be one table."""


def plan_new_columns(table: str, existing: Iterable[tuple[str, str]], wanted: Schema) -> Schema:
    """The columns to add; a column that is declared no more stays, and holds null from then on."""
    there = dict(existing)
    for name, kind in wanted:
        if there.get(name, kind) != kind:
            raise IncompatibleTableError(
                f"column {name!r} of {table} is {there[name]} and is declared as {kind} now;"
                f" give the column of the other type a new name, or the pipeline a new table"
            )
    return tuple((name, kind) for name, kind in wanted if name not in there)
