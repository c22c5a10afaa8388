"""`millrace client`: settings with which any Kafka client reaches a site."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from millrace.base.output import print_json, print_line
from millrace.kafka.core.kafka_client import (
    as_properties,
    inline_java_settings,
    librdkafka_settings,
)
from millrace.platform.io.environment import platform_here
from millrace.relay.io.named_sites import find_site
from millrace.secrets.io.passwords import read_user


class Format(StrEnum):
    LIBRDKAFKA = "librdkafka"
    JAVA = "java"
    JSON = "json"


def client(
    site: Annotated[str, typer.Argument(help="A site's name, as in dags/sites/<name>.yaml.")],
    user: Annotated[str, typer.Option("--as", help="Whose settings.")] = "app",
    form: Annotated[
        Format,
        typer.Option(
            "--format",
            help="librdkafka: for kcat -F; java: for --command-config;"
            " json: for confluent_kafka.Producer(json.load(...)).",
        ),
    ] = Format.LIBRDKAFKA,
) -> None:
    """Print client settings for a site; they hold the user's password, so mind where they go.

    Example: millrace client plant-a --as app > app.conf && kcat -F app.conf -L
    """
    layout = platform_here()
    spec = find_site(layout, site)
    credentials = read_user(layout, spec.name, user)
    name, password = credentials.username, credentials.password
    if form is Format.JAVA:
        print_line(as_properties(inline_java_settings(spec, layout.ca, name, password)))
        return
    settings = librdkafka_settings(spec, layout.ca, name, password)
    if form is Format.JSON:
        print_json(settings)
    else:
        print_line(as_properties(settings))
