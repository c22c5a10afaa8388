"""The files of Avro schemas: `schemas/<id>-<subject>.avsc`."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from millrace.core.errors import MillraceError


class SchemaError(MillraceError):
    """A schema that is not there, or is none."""


@dataclass(frozen=True)
class SchemaFile:
    """One version of a subject's schema, under the id that stands in front of every record."""

    file: Path
    id: int
    subject: str
    text: str


def load_schema_files(folder: Path) -> list[SchemaFile]:
    files = [_load(file) for file in sorted(folder.glob("*.avsc"))]
    for number, count in Counter(one.id for one in files).items():
        if count > 1:
            raise SchemaError(
                f"{folder}: {count} schemas have the same id {number}; give the newer a new one"
            )
    return files


def _load(file: Path) -> SchemaFile:
    number, _, subject = file.stem.partition("-")
    if not number.isdigit() or not subject:
        raise SchemaError(f"{file}: its name must be <id>-<subject>.avsc, such as 1-{file.name}")
    return SchemaFile(file, int(number), subject, read_schema(file))


def read_schema(file: Path) -> str:
    try:
        text = file.read_text()
        json.loads(text)
    except OSError as error:
        raise SchemaError(f"{file}: it cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise SchemaError(f"{file}: this is no Avro schema: {error}") from error
    return text
