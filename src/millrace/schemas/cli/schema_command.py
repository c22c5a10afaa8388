"""`millrace schema`: the schemas of messages, in schemas/ and in the registry."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from millrace.base.errors import MillraceError
from millrace.base.output import Json, print_json, print_line
from millrace.platform.core.platform import Platform
from millrace.platform.io.environment import platform_here
from millrace.schemas.core.registry import IncompatibleError, User, subject_of, topic_of
from millrace.schemas.io.schema_files import load_schema_files, read_schema

if TYPE_CHECKING:
    from millrace.schemas.io.registry_client import RegistryClient

app = typer.Typer(
    no_args_is_help=True,
    help="List the schemas of messages; check a new one, push it, pull those of others.",
)

Topic = Annotated[
    str, typer.Argument(help="The topic whose messages it describes, such as humidity-data.")
]
File = Annotated[Path, typer.Argument(help="An Avro schema, such as humidity.avsc.")]


@app.command("list")
def list_schemas(*, as_json: Json = False) -> None:
    """Show every schema by its id: its topic, its file, and whether the registry has it.

    Example: millrace schema list
    """
    from rich.console import Console

    from millrace.schemas.cli.schema_table import list_rows, show_rows

    layout = platform_here()
    rows = list_rows(layout, _client(layout, User.READER) if layout.registry else None)
    if as_json:
        print_json([row.model_dump(mode="json") for row in rows])
    else:
        show_rows(rows, Console(highlight=False))


@app.command()
def check(topic: Topic, file: File) -> None:
    """Ask the registry whether a schema reads what all older ones of its topic have written.

    Example: millrace schema check temperature-data temperature.avsc
    """
    text = read_schema(file)
    if not _client(platform_here(), User.PUBLISHER).check(subject_of(topic), text):
        raise IncompatibleError(
            f"{file}: it cannot read what older schemas of topic {topic!r} have written;"
            " give new fields a default, and take none away that has none"
        )
    print_line(f"{file} fits all older schemas of topic {topic}")


@app.command()
def push(topic: Topic, file: File) -> None:
    """Register a schema, and write it to schemas/ under the id that messages will name.

    Refused when it cannot read what older ones of its topic have written. The same once more
    changes nothing. Jobs of format avro take it up: they finish their batch and start anew.

    Example: millrace schema push humidity-data humidity.avsc
    """
    from millrace.schemas.io.local_registry import check_topic, keep

    layout = platform_here()
    check_topic(topic)
    number = _client(layout, User.PUBLISHER).register(subject_of(topic), read_schema(file))
    print_line(f"id {number}: {keep(layout, number, topic, read_schema(file))}")


@app.command()
def pull() -> None:
    """Write to schemas/ what clients of others have registered, so that jobs can read it too.

    Example: millrace schema pull
    """
    from millrace.schemas.io.local_registry import keep

    layout = platform_here()
    client = _client(layout, User.READER)
    here = {one.id for one in load_schema_files(layout.schemas)}
    pulled = 0
    for subject in client.subjects():
        topic = topic_of(subject)
        for number, text in client.schemas_of(subject).items() if topic else ():
            if topic and number not in here:
                print_line(f"id {number}: {keep(layout, number, topic, text)}")
                pulled += 1
    if not pulled:
        print_line("schemas/ has all schemas of the registry")


def _client(layout: Platform, user: User) -> RegistryClient:
    from millrace.schemas.io.local_registry import open_client

    if layout.registry is None:
        raise MillraceError(
            "there is no schema registry here; 'make up REGISTRY=1' starts one. Without one, write"
            " schemas/<id>-<topic>.avsc with the next free id; nobody checks then that it fits"
        )
    return open_client(layout, layout.registry, user)
