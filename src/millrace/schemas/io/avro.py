"""Avro as Confluent's clients frame it: a zero byte, the schema's id, the record."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

from fastavro import parse_schema, schemaless_reader, schemaless_writer
from fastavro.types import Schema as ParsedSchema

from millrace.schemas.io.schema_files import SchemaError, SchemaFile, load_schema_files

_MAGIC = 0
_HEADER = struct.Struct(">bI")


@dataclass(frozen=True)
class Schema:
    """One version of a subject's schema, under the id that stands in front of every record."""

    id: int
    subject: str
    parsed: ParsedSchema

    def encode(self, record: Mapping[str, object]) -> bytes:
        buffer = BytesIO()
        buffer.write(_HEADER.pack(_MAGIC, self.id))
        schemaless_writer(buffer, self.parsed, record)
        return buffer.getvalue()

    def decode(self, framed: bytes) -> object:
        body = BytesIO(framed[_HEADER.size :])
        record = schemaless_reader(body, self.parsed, None)
        if body.read(1):
            raise ValueError(f"there is more than one record of schema {self.id}")
        return record


@dataclass(frozen=True)
class Schemas:
    """The schemas of a folder, each a file `<id>-<subject>.avsc`."""

    folder: Path
    by_id: Mapping[int, Schema]
    # Asked for a schema that no file has, such as of a registry.
    lookup: Callable[[int], str | None] = field(default=lambda _: None)
    _found: dict[int, Schema | None] = field(default_factory=dict)

    @classmethod
    def load(cls, folder: Path, lookup: Callable[[int], str | None] = lambda _: None) -> Schemas:
        return cls(folder, {one.id: _parse(one) for one in load_schema_files(folder)}, lookup)

    def find(self, number: int) -> Schema | None:
        """Each id is looked up once: a schema is there before its first message."""
        if number in self.by_id:
            return self.by_id[number]
        if number not in self._found:
            text = self.lookup(number)
            self._found[number] = Schema(number, "", _parsed(text, f"{number}")) if text else None
        return self._found[number]

    def latest(self, subject: str) -> Schema:
        """The subject's newest schema, the one to write with."""
        found = [schema for schema in self.by_id.values() if schema.subject == subject]
        if not found:
            known = ", ".join(sorted({schema.subject for schema in self.by_id.values()})) or "none"
            raise SchemaError(
                f"{self.folder}: no schema for subject {subject!r} (there are: {known});"
                f" add a file <id>-{subject}.avsc, or send JSON"
            )
        return max(found, key=lambda schema: schema.id)


def schema_id(value: bytes) -> int | None:
    """The id a framed value names; None where the value has no such frame."""
    if len(value) < _HEADER.size or value[0] != _MAGIC:
        return None
    return int(_HEADER.unpack_from(value)[1])


def _parse(one: SchemaFile) -> Schema:
    return Schema(one.id, one.subject, _parsed(one.text, str(one.file)))


def _parsed(text: str, where: str) -> ParsedSchema:
    try:
        return parse_schema(json.loads(text))
    except Exception as error:  # fastavro's errors have no common base
        raise SchemaError(f"{where}: this is no Avro schema: {error}") from error
