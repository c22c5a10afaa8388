"""A message's value as a person reads it: Avro, JSON, text; and bytes where nothing fits."""

from __future__ import annotations

import json

from millrace.base.errors import MillraceError
from millrace.schemas.io.avro import Schemas, schema_id

_SHOWN_BYTES = 64


def decode(value: bytes | None, schemas: Schemas) -> object:
    """A record as a dict; whatever cannot be one, as text that says what it is."""
    if value is None:
        return "(no value)"
    number = schema_id(value)
    if number is not None:
        return _decode_avro(value, number, schemas)
    return _decode_text(value)


def _decode_avro(value: bytes, number: int, schemas: Schemas) -> object:
    try:
        schema = schemas.find(number)
    except MillraceError as error:
        return f"(Avro of schema {number}: {error}) {_hex(value)}"
    if schema is None:
        return f"(Avro of unknown schema {number}) {_hex(value)}"
    try:
        return schema.decode(value)
    except Exception as error:  # foreign bytes raise whatever they raise
        return f"(broken Avro of schema {number}: {error}) {_hex(value)}"


def _decode_text(value: bytes) -> object:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return f"({len(value)} bytes) {_hex(value)}"
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text if text.isprintable() else f"({len(value)} bytes) {_hex(value)}"


def _hex(value: bytes) -> str:
    more = "..." if len(value) > _SHOWN_BYTES else ""
    return value[:_SHOWN_BYTES].hex() + more
