"""Avro records in Confluent's frame, and values as people read them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from millrace.schemas.io.avro import SchemaError, Schemas, schema_id
from millrace.schemas.io.decode import decode

SCHEMAS = Schemas.load(Path(__file__).parents[3] / "schemas")
TEMPERATURE = SCHEMAS.latest("temperature-data")
RECORD = {"sensor_id": "a-1", "timestamp": 1_000, "temperature": 20.5, "unit": "C"}
SHOWN = RECORD | {"timestamp": datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)}


def schemas_of(folder: Path, *names: str) -> Schemas:
    for name in names:
        (folder / name).write_text('"string"')
    return Schemas.load(folder)


def test_frame_is_a_zero_the_id_and_the_record():
    assert TEMPERATURE.encode(RECORD)[:5] == b"\x00\x00\x00\x00\x01"
    assert schema_id(TEMPERATURE.encode(RECORD)) == 1


def test_record_comes_back_as_it_went():
    assert TEMPERATURE.decode(TEMPERATURE.encode(RECORD)) == SHOWN


def test_an_unknown_schema_is_looked_up_once(tmp_path):
    asked = []

    def lookup(number: int) -> str | None:
        asked.append(number)
        return '"string"' if number == 9 else None

    schemas = Schemas.load(tmp_path, lookup)
    known, unknown = b"\0\0\0\0\x09\x02a", b"\0\0\0\0\x08\x02a"
    assert [decode(known, schemas) for _ in range(2)] == ["a", "a"]
    assert [str(decode(unknown, schemas)) for _ in range(2)] == [
        "(Avro of unknown schema 8) 00000000080261"
    ] * 2
    assert asked == [9, 8]


def test_newest_schema_of_a_subject_writes(tmp_path):
    schemas = schemas_of(tmp_path, "2-a.avsc", "10-a.avsc", "11-b.avsc")
    assert schemas.latest("a").id == 10


@pytest.mark.parametrize(
    ("file", "text", "reason"),
    [
        ("temperature.avsc", '"string"', "must be <id>-<topic>.avsc"),
        ("1-a.avsc", "{", "no Avro schema"),
        ("1-a.avsc", '{"type": "recrod"}', "no Avro schema"),
        ("01-b.avsc", '"string"', "same id"),
    ],
    ids=["name", "not JSON", "not Avro", "id twice"],
)
def test_bad_schema_file_is_an_error_that_names_it(tmp_path, file, text, reason):
    if "same" in reason:
        schemas_of(tmp_path, "1-a.avsc")
    (tmp_path / file).write_text(text)
    with pytest.raises(SchemaError, match=reason) as caught:
        Schemas.load(tmp_path)
    assert str(tmp_path) in str(caught.value)


def test_missing_schema_says_what_to_add(tmp_path):
    with pytest.raises(SchemaError, match=r"there are: a.*<id>-b\.avsc"):
        schemas_of(tmp_path, "1-a.avsc").latest("b")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "(no value)"),
        (TEMPERATURE.encode(RECORD), SHOWN),
        (json.dumps(RECORD).encode(), RECORD),
        (b"21.5", 21.5),
        (b"plain words", "plain words"),
        (b"", ""),
        (b"\xff\xfe", "(2 bytes) fffe"),
        (b"bell\x07", "(5 bytes) 62656c6c07"),
        (b"\x00\x00\x00\x00\x63\x01", "(Avro of unknown schema 99) 000000006301"),
    ],
    ids=["none", "avro", "json", "number", "text", "empty", "bytes", "control", "unknown schema"],
)
def test_value_is_shown_as_what_it_is(value, shown):
    assert decode(value, SCHEMAS) == shown


@pytest.mark.parametrize(
    "value",
    [
        TEMPERATURE.encode(RECORD)[:-3],
        TEMPERATURE.encode(RECORD) + b"more",
        b"\x00\x00\x00\x00\x01",
        b"\x00\x00\x00\x00\x01" + b"\xff" * 20,
    ],
    ids=["cut", "trailing", "empty", "garbage"],
)
def test_broken_avro_is_shown_as_bytes_with_the_reason(value):
    assert str(decode(value, SCHEMAS)).startswith("(broken Avro of schema 1: ")


def test_hostile_json_is_only_text():
    assert str(decode(b"[" * 100_000, SCHEMAS)).startswith("[[[")
