"""`millrace tail`: what arrives, as it arrives, decoded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Annotated

import typer

from millrace.base.errors import MillraceError
from millrace.base.output import print_line
from millrace.kafka.core.kafka_client import librdkafka_settings
from millrace.pipelines.io.loader import load_pipelines
from millrace.platform.core.platform import Platform
from millrace.platform.io.environment import platform_here
from millrace.relay.io.named_sites import find_site
from millrace.schemas.cli.known_schemas import load_schemas

Row = Mapping[str, object]
LAYERS = ("bronze",)


def tail(
    what: Annotated[
        str,
        typer.Argument(
            help="TOPIC@SITE, such as temperature-data@plant-a,"
            " or a table, such as bronze.temperature or temperature."
        ),
    ],
    *,
    from_start: Annotated[
        bool, typer.Option("--from-start", help="Begin with the oldest, not with the next.")
    ] = False,
    count: Annotated[
        int | None, typer.Option(min=1, help="Stop after so many; without it, Ctrl-C stops.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a line, for programs.")
    ] = False,
    user: Annotated[str, typer.Option("--as", help="Which of the site's users reads.")] = "app",
) -> None:
    """Print messages of a topic, or rows of a table, as they arrive."""
    layout = platform_here()
    follow = _follow_topic(layout, what, user, from_start=from_start) if "@" in what else None
    rows = follow or _follow_table(layout, what, from_start=from_start)
    for row in islice(rows, count):
        print_line(json.dumps(row, default=str) if as_json else _as_text(row))


def _follow_topic(layout: Platform, what: str, user: str, *, from_start: bool) -> Iterator[Row]:
    # Each engine is imported by the command that needs it: `millrace check` needs none.
    from millrace.schemas.io.topic_tail import follow_topic
    from millrace.secrets.io.passwords import read_user

    topic, _, name = what.partition("@")
    site = find_site(layout, name)
    login = read_user(layout, site.name, user)
    settings = librdkafka_settings(site, layout.ca, login.username, login.password)
    schemas = load_schemas(layout)
    return follow_topic(site, settings, topic, schemas, from_start=from_start)


def _follow_table(layout: Platform, what: str, *, from_start: bool) -> Iterator[Row]:
    from millrace.lake.io.follow import follow_table
    from millrace.schemas.io.decode import decode

    layer, _, table = what.rpartition(".")
    known = [pipeline.table for pipeline in load_pipelines(layout)]
    if layer not in ("", *LAYERS) or table not in known:
        names = ", ".join(f"bronze.{name}" for name in known)
        raise MillraceError(
            f"{what!r} is no table and no TOPIC@SITE; tables are {names},"
            " a topic is written such as temperature-data@plant-a"
        )
    schemas = load_schemas(layout)
    table_at = layout.table(layer or "bronze", table)
    for row in follow_table(table_at, layout.bucket, from_start=from_start):
        yield {
            "time": row["kafka_time"],
            "site": row["site"],
            "topic": row["topic"],
            "partition": row["partition"],
            "offset": row["offset"],
            "key": _text(row["key"]),
            "value": decode(row["value"], schemas),
        }


def _text(key: bytes | None) -> str | None:
    return key.decode(errors="replace") if key is not None else None


def _as_text(row: Row) -> str:
    where = "/".join(
        str(row[part]) for part in ("site", "topic", "partition", "offset") if part in row
    )
    value = row["value"]
    shown = json.dumps(value, default=str) if isinstance(value, dict | list) else str(value)
    return f"{row['time']}  {where}  {row['key']}  {shown}"
