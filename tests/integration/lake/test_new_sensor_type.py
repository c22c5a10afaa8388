"""A kind of sensor that nobody had thought of: files and registrations, and no code."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import TableNotFoundError

from millrace.devices.core.registration import RegisteredKind, Sensor, SensorType
from millrace.devices.core.registration_change import plan_registration
from millrace.devices.io.registrar import Registrar
from millrace.pipelines.io.loader import load_pipelines
from millrace.pipelines.io.refining import load_refine
from millrace.platform.core.platform import Platform
from millrace.schemas.io.avro import Schemas
from tests.integration.conftest import CHECKOUT, NewDriver, RunningSite
from tests.integration.stands.lake.ingest_driver import START_TIMEOUT_S
from tests.support import wait_until

SCHEMA = """{"type": "record", "name": "Humidity", "fields": [
  {"name": "sensor_id", "type": "string"},
  {"name": "measured_at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
  {"name": "percent", "type": "double"},
  {"name": "dew_point", "type": ["null", "double"], "default": null}
]}"""
PIPELINE = """
name: humidity
sites: all
topics: [humidity]
format: avro
table: humidity
columns:
  sensor_id: {type: string, from: $.sensor_id, required: true}
  measured_at: {type: timestamp, from: $.measured_at, required: true}
  value: {type: double, from: $.percent, required: true}
"""
AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
REGISTERED = [
    (RegisteredKind.SENSOR_TYPE, "humidity", {"name": "Humidity", "unit": "%"}),
    (RegisteredKind.DEVICE, "silo", {"name": "Silo", "location": "Yard"}),
    (
        RegisteredKind.SENSOR,
        "silo-h",
        {"name": "Air", "device_id": "silo", "sensor_type_id": "humidity"},
    ),
]


@pytest.fixture
def checkout(tmp_path: Path) -> Platform:
    """What an operator writes: a schema and a pipeline."""
    layout = Platform(tmp_path)
    for folder in (layout.pipelines, layout.sites, layout.schemas):
        folder.mkdir(parents=True)
    (layout.sites / "plant-t.yaml").write_text("name: plant-t\nbootstrap: 127.0.0.1:1\n")
    (layout.pipelines / "humidity.yaml").write_text(PIPELINE)
    (layout.schemas / "99-humidity.avsc").write_text(SCHEMA)
    return layout


@pytest.mark.timeout(600)
def test_a_new_kind_of_sensor_needs_files_and_no_code(
    site: RunningSite, new_driver: NewDriver, checkout: Platform
) -> None:
    registrar = Registrar(site.spec, site.settings("registrar"), Schemas.load(CHECKOUT / "schemas"))
    for kind, object_id, given in REGISTERED:
        registrar.carry_out(
            lambda known, k=kind, i=object_id, g=given: plan_registration(known, k, i, g)
        )

    (pipeline,) = load_pipelines(checkout)
    driver = new_driver("humidity", refine=load_refine(checkout, pipeline))
    record = {"sensor_id": "silo-h", "measured_at": AT, "percent": 61.5, "dew_point": 9.0}
    framed = Schemas.load(checkout.schemas).latest("humidity").encode(record)
    site.produce("app", "humidity", [(b"silo-h", framed)])
    driver.start()
    (row,) = wait_until(lambda: silver(driver.job.tables.silver), START_TIMEOUT_S)
    assert driver.stop() == 0
    sensor_id, value, event_time, payload = row
    assert (value, event_time) == (61.5, AT)
    assert b"dew_point" in payload["metadata"], "what no column names is in the VARIANT"

    known = registrar.read()
    sensor = known.find(RegisteredKind.SENSOR, sensor_id).thing
    assert isinstance(sensor, Sensor)
    measured = known.find(RegisteredKind.SENSOR_TYPE, sensor.sensor_type_id).thing
    assert isinstance(measured, SensorType)
    assert measured.unit == "%"


def silver(table: str) -> list[tuple[Any, ...]]:
    """Nothing while the job has not made it yet."""
    try:
        found = DeltaTable(table)
    except TableNotFoundError:
        return []
    query = "SELECT sensor_id, value, event_time, payload FROM t"
    batches = QueryBuilder().register("t", found).execute(query)
    return [row for b in batches for row in zip(*(c.to_pylist() for c in b.columns), strict=True)]
