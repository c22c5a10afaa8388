"""The files of Avro schemas: `schemas/<id>-<subject>.avsc`."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from millrace.base.errors import MillraceError
from millrace.base.names import LETTERS, TopicName, is_named

# The four bytes in front of a record hold it.
_ID = re.compile(r"[0-9]{1,10}")


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
    number, subject = read_name(file)
    return SchemaFile(file, number, subject, read_schema(file))


def read_name(file: Path) -> tuple[int, str]:
    """Id and subject. Both go to the registry, and with each record to everybody."""
    number, _, subject = file.stem.partition("-")
    if not _ID.fullmatch(number) or not is_named(TopicName, subject):
        raise SchemaError(
            f"{file}: its name must be <id>-<topic>.avsc, such as 1-temperature-data.avsc: a"
            f" number, then up to 200 {LETTERS}"
        )
    return int(number), subject


def read_schema(file: Path) -> str:
    try:
        text = file.read_text()
        json.loads(text)
    except OSError as error:
        raise SchemaError(f"{file}: it cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise SchemaError(f"{file}: this is no Avro schema: {error}") from error
    return text
