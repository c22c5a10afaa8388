"""Messages become rows, or are refused with every reason; nothing breaks the batch."""

from __future__ import annotations

import io
import json
import struct
from datetime import UTC, date, datetime, timedelta
from functools import reduce
from operator import and_
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.avro.functions import from_avro

from millrace.lake.core import bronze, silver
from millrace.lake.core.columns import Column
from millrace.lake.core.refine import RefineSpec, Rule
from millrace.settings.core.engine import Tables
from spark_jobs.refine.refine_rows import quarantine_rows, refine, silver_rows
from spark_jobs.refine.refined_tables import ensure_refined_tables

NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
COLUMNS = tuple(
    Column(name=name, type=kind, path=tuple(path.split(".")), required=required)
    for name, kind, path, required in [
        ("sensor_id", "string", "id", True),
        ("measured_at", "timestamp", "at", False),
        ("value", "double", "value", False),
        ("room", "int", "meta.room", False),
        ("is_on", "boolean", "on", False),
        ("made", "date", "made", False),
        ("count", "bigint", "count", False),
    ]
)
RULES = (
    Rule(id="value in range", severity="critical", broken="coalesce(value > 100, false)"),
    Rule(id="room is small", severity="warning", broken="coalesce(room > 9, false)"),
)
JSON = RefineSpec(format="json", columns=COLUMNS, event_time="measured_at", rules=RULES)


def naive(time: datetime) -> datetime:
    """As PySpark gives times, in the session's zone."""
    return time.replace(tzinfo=None)


def bronze_rows(spark: SparkSession, values: list[bytes | None]) -> DataFrame:
    rows = [
        (*("plant-a", "t", "id", 0, n, NOON), *(b"k", None, value, NOON + SECOND, NOON.date()))
        for n, value in enumerate(values)
    ]
    return spark.createDataFrame(
        rows, ", ".join(f"`{name}` {kind}" for name, kind in bronze.COLUMNS)
    )


def accepted(spark: SparkSession, spec: RefineSpec, *values: bytes | None) -> list[Row]:
    rows = silver_rows(refine(bronze_rows(spark, list(values)), spec), spec)
    return rows.withColumn("payload", f.to_json("payload")).collect()


def refused(spark: SparkSession, spec: RefineSpec, *values: bytes | None) -> list[Row]:
    return quarantine_rows(refine(bronze_rows(spark, list(values)), spec), spec).collect()


def message(**values: object) -> bytes:
    return json.dumps({"id": "s1", **values}).encode()


def test_a_message_becomes_typed_columns_and_the_rest_its_payload(spark: SparkSession) -> None:
    row = accepted(
        spark,
        JSON,
        message(
            at="2026-11-18T11:59:59.5Z",
            value=21,
            meta={"room": 7, "floor": [1, {"x": None}]},
            on=True,
            made="2024-02-29",
            count=2**62,
            unit="C",
            big=12345678901234567890123,
        ),
    )[0]
    assert (row.sensor_id, row.value, row.room, row.is_on) == ("s1", 21.0, 7, True)
    assert (row.made, row["count"]) == (date(2024, 2, 29), 2**62)
    assert row.measured_at == row.event_time == naive(NOON - timedelta(milliseconds=500))
    assert row.latency_ms == 1500
    payload = {"meta": {"room": 7, "floor": [1, {"x": None}]}, "unit": "C"}
    assert json.loads(row.payload) == {**payload, "big": 12345678901234567890123}


def test_the_tables_have_the_columns_that_are_declared(spark: SparkSession) -> None:
    judged = refine(bronze_rows(spark, []), JSON)
    for rows, wanted in [
        (silver_rows(judged, JSON), silver.silver_schema(COLUMNS)),
        (quarantine_rows(judged, JSON), silver.QUARANTINE),
    ]:
        assert tuple((x.name, x.dataType.simpleString()) for x in rows.schema) == wanted


def test_a_silver_table_takes_a_column_of_every_type(spark: SparkSession, tmp_path: Path) -> None:
    tables = Tables(**{layer: str(tmp_path / layer) for layer in Tables.model_fields})
    ensure_refined_tables(spark, tables, JSON)
    made = spark.read.format("delta").load(tables.silver).schema
    assert tuple((x.name, x.dataType.simpleString()) for x in made) == silver.silver_schema(COLUMNS)


REFUSED: list[tuple[bytes | None, str, list[str]]] = [
    (None, "decode", ["no-value"]),
    (b"", "decode", ["no-value"]),
    (b'{"id": "s1"} xyz', "decode", ["not-json"]),
    (b'{"id": "s1"}{}', "decode", ["not-json: there is more behind the object's end"]),
    (b'{"id": "s1", "value": NaN}', "decode", ["not-json"]),
    (b'{"id": "s1", "id": "s2"}', "decode", ["not-json"]),
    (b'{"id": "s1", "value": null, "value": 1}', "decode", ["not-json"]),
    (b'{"id": "s1", "unit": "C", "unit": "F"}', "decode", ["not-json"]),
    (b'{"id": "s1", "meta": {"room": 1, "room": 2}}', "decode", ["not-json"]),
    (b'{"id": "s1", "meta": {"room": 1}, "meta": {}}', "decode", ["not-json"]),
    (b'{"id": "s1", "x": {"y": 1, "y": 2}}', "decode", ["not-json"]),
    (b'{"id": "s1"', "decode", ["not-json"]),
    (b'{"id": "\xff"}', "decode", ["not-json"]),
    (b"[1]", "decode", ["not-json: the value is no object"]),
    (b'{"id": ' + b"[" * 100_000, "decode", ["not-json"]),
    (b"\x00\x01\x02", "decode", ["not-json"]),
    (b"{}", "type", ["missing: sensor_id"]),
    (b'{"id": null}', "type", ["missing: sensor_id"]),
    (b'{"id": 7}', "type", ["wrong-type: sensor_id"]),
    (message(value="21"), "type", ["wrong-type: value"]),
    (b'{"id": "s1", "value": 1e999}', "type", ["wrong-type: value"]),
    (message(meta={"room": 2**31}), "type", ["wrong-type: room"]),
    (message(meta={"room": 1.5}), "type", ["wrong-type: room"]),
    (message(count=2**63), "type", ["wrong-type: count"]),
    (message(at="12:00"), "type", ["wrong-type: measured_at"]),
    (message(at="2026"), "type", ["wrong-type: measured_at"]),
    (message(at=2**62), "type", ["wrong-type: measured_at"]),
    (message(made="2025-02-29"), "type", ["wrong-type: made"]),
    (message(on=1), "type", ["wrong-type: is_on"]),
    (message(value={}), "type", ["wrong-type: value"]),
    (b'{"value": true}', "type", ["missing: sensor_id", "wrong-type: value"]),
    (message(value=101), "rule", ["rule: value in range"]),
    (message(value=101, on="yes"), "type", ["wrong-type: is_on", "rule: value in range"]),
]


@pytest.fixture(scope="module")
def quarantine(spark: SparkSession) -> dict[int, Row]:
    """All of them in one batch, among good ones, by their offsets."""
    values = [case[0] for case in REFUSED]
    assert len(accepted(spark, JSON, *values, message(), message())) == 2
    return {row.offset: row for row in refused(spark, JSON, *values, message(), message())}


@pytest.mark.parametrize(
    "number", range(len(REFUSED)), ids=lambda number: repr(REFUSED[number][0])[:30]
)
def test_a_refused_message_is_kept_with_all_reasons(
    quarantine: dict[int, Row], number: int
) -> None:
    value, stage, reasons = REFUSED[number]
    row = quarantine[number]
    assert (row.stage, row.key) == (stage, bytearray(b"k"))
    assert (row.value if row.value is None else bytes(row.value)) == value
    assert len(row.reasons) == len(reasons)
    for got, wanted in zip(row.reasons, reasons, strict=True):
        assert got.startswith(wanted)


def test_a_warning_does_not_refuse(spark: SparkSession) -> None:
    assert accepted(spark, JSON, message(meta={"room": 10}))[0].room == 10


def test_a_clock_in_the_future_is_held_back_to_the_brokers(spark: SparkSession) -> None:
    row = accepted(spark, JSON, message(at="2999-01-01T00:00:00Z"))[0]
    assert row.measured_at.year == 2999
    assert row.event_time == naive(NOON)
    assert row.latency_ms == 1000


def test_milliseconds_are_a_time_too(spark: SparkSession) -> None:
    row = accepted(spark, JSON, message(at=1_763_424_000_123))[0]
    assert row.measured_at == naive(datetime(2025, 11, 18, 0, 0, 0, 123_000, UTC))


RECORD: dict[str, Any] = {
    "type": "record",
    "name": "R",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "value", "type": ["null", "double"]},
        {
            "name": "meta",
            "type": {
                "type": "record",
                "name": "M",
                "fields": [
                    {"name": "room", "type": "long"},
                    {"name": "tags", "type": {"type": "map", "values": "string"}},
                ],
            },
        },
        {
            "name": "price",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        },
        {"name": "kind", "type": {"type": "enum", "name": "K", "symbols": ["A", "B"]}},
        {"name": "list", "type": {"type": "array", "items": ["null", "int", "string"]}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
    ],
}
GAINED = {**RECORD, "fields": [*RECORD["fields"], {"name": "unit", "type": "string"}]}
AVRO = JSON.model_copy(
    update={"format": "avro", "schemas": {1: json.dumps(RECORD), 2: json.dumps(GAINED)}}
)


def framed(schema_id: int, body: bytes) -> bytes:
    return struct.pack(">bI", 0, schema_id) + body


def long(value: int) -> bytes:
    """As Avro writes it."""
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def text(value: str) -> bytes:
    return long(len(value)) + value.encode()


def record(room: int = 7, value: float | None = 21.0) -> bytes:
    body = io.BytesIO()
    body.write(text("s1") + long(1_795_003_200_000_000))
    body.write(long(0) if value is None else long(1) + struct.pack("<d", value))
    body.write(long(room) + long(1) + text("k") + text("v") + long(0))
    body.write(long(2) + (1234).to_bytes(2) + long(1))
    body.write(long(2) + long(1) + long(5) + long(2) + text("x") + long(0) + long(19_000))
    return body.getvalue()


def test_an_avro_record_becomes_a_row_like_any_other(spark: SparkSession) -> None:
    row = accepted(spark, AVRO, framed(1, record()))[0]
    assert (row.sensor_id, row.value, row.room) == ("s1", 21.0, 7)
    assert row.measured_at == naive(NOON)
    assert json.loads(row.payload) == {
        "meta": {"room": 7, "tags": {"k": "v"}},
        "price": 12.34,
        "kind": "B",
        "list": [5, "x"],
        "day": "2022-01-08",
    }


def test_good_records_are_read_as_sparks_own_reader_reads_them(spark: SparkSession) -> None:
    random = Random(7)
    edges = [None, 0.0, -0.0, 5e-324, 1.7976931348623157e308, float("inf"), float("nan")]
    values = [*edges, *(random.uniform(-1e9, 1e9) for _ in range(200))]
    rooms = [0, -1, 2**31 - 1, -(2**31), *(random.randrange(-(2**31), 2**31) for _ in values)]
    records = [record(room, value) for room, value in zip(rooms, values, strict=False)]
    rows = bronze_rows(spark, [framed(1, body) for body in records])
    judged = refine(rows, AVRO.model_copy(update={"rules": ()}))
    theirs = from_avro(f.expr("substring(_value, 6)"), json.dumps(RECORD)).alias("a")
    pairs = {"sensor_id": "id", "measured_at": "at", "value": "value", "room": "meta.room"}
    equal = [f.col(ours).eqNullSafe(f.col(f"a.{name}")) for ours, name in pairs.items()]
    same = reduce(and_, equal)
    assert judged.select("*", theirs).where(same).count() == len(records)


def test_a_schema_that_gained_a_field_is_read_beside_the_old_one(spark: SparkSession) -> None:
    old, new = accepted(spark, AVRO, framed(1, record()), framed(2, record() + text("C")))
    assert json.loads(new.payload) == {**json.loads(old.payload), "unit": "C"}


BROKEN = [
    (b"\x00\x00", "not-framed"),
    (b'{"id": 1}', "not-framed"),
    (framed(9, record()), "unknown-schema: 9"),
    (framed(1, record()[:-1]), "not-avro"),
    (framed(1, record() + b"\x00"), "not-avro: there is more behind the record's end"),
    (framed(1, long(2**40)), "not-avro"),
    (framed(1, long(2**31 - 10)), "not-avro"),
    (framed(1, b"\xff" * 20), "not-avro"),
    (framed(2, record()), "not-avro"),
    (framed(1, record(room=2**40)), "wrong-type: room"),
]


def test_a_broken_record_is_refused_and_its_neighbours_are_not(spark: SparkSession) -> None:
    values = [framed(1, record()), *(value for value, _ in BROKEN), framed(1, record())]
    assert [row.offset for row in accepted(spark, AVRO, *values)] == [0, len(BROKEN) + 1]
    rows = sorted(refused(spark, AVRO, *values), key=lambda row: row.offset)
    found = [row.reasons[0] for row in rows]
    assert [text[: len(wanted)] for text, (_, wanted) in zip(found, BROKEN, strict=True)] == [
        wanted for _, wanted in BROKEN
    ]
