"""`millrace schema list`: files and registry side by side."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from millrace.base.model import Frozen
from millrace.schemas.core.registry import topic_of
from millrace.schemas.io.schema_files import load_schema_files
from millrace.settings.core.paths import Paths

if TYPE_CHECKING:
    from millrace.schemas.io.registry_client import RegistryClient


class SchemaRow(Frozen):
    id: int
    topic: str
    file: Path | None
    # None: there is no registry to ask.
    in_registry: bool | None


def list_rows(layout: Paths, client: RegistryClient | None) -> list[SchemaRow]:
    files = {one.id: one for one in load_schema_files(layout.schemas)}
    published = _published(client) if client else {}
    return [
        SchemaRow(
            id=number,
            topic=files[number].subject if number in files else published[number],
            file=files[number].file if number in files else None,
            in_registry=number in published if client else None,
        )
        for number in sorted(files.keys() | published.keys())
    ]


def _published(client: RegistryClient) -> dict[int, str]:
    """Topics by the ids of their schemas."""
    topics = {subject: topic_of(subject) for subject in client.subjects()}
    return {
        number: topic
        for subject, topic in topics.items()
        if topic
        for number in client.schemas_of(subject)
    }


def show_rows(rows: Iterable[SchemaRow], console: Console) -> None:
    table = Table()
    for title in ("id", "topic", "file", "in the registry"):
        table.add_column(title, overflow="fold")
    for row in rows:
        known = {True: "yes", False: "no; 'millrace up' puts it there", None: "-"}[row.in_registry]
        file = row.file.name if row.file else "none; 'millrace schema pull' writes it"
        table.add_row(str(row.id), row.topic, file, known)
    console.print(table)
