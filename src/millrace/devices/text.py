"""Registered things as people and programs read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from millrace.devices.core.registration import (
    Device,
    Entry,
    Registered,
    RegisteredKind,
    Sensor,
    SensorType,
)

Cells = Callable[[Registered, Entry], tuple[str, ...]]


def entry_json(entry: Entry) -> dict[str, Any]:
    return {"kind": str(entry.kind), "id": entry.id, **entry.thing.model_dump(mode="json")}


def show_entries(known: Registered, entries: Sequence[Entry]) -> None:
    console = Console(highlight=False)
    if not entries:
        console.print("nothing is registered that fits; 'millrace register --help' says how")
    for kind, (columns, cells) in _COLUMNS.items():
        shown = [entry for entry in entries if entry.kind is kind]
        if shown:
            table = Table(kind.value, "name", *columns, "description")
            for entry in shown:
                thing = entry.thing
                table.add_row(_id(entry), thing.name, *cells(known, entry), thing.description)
            console.print(table)


def show_entry(entry: Entry, above: Sequence[Entry], below: Sequence[str]) -> None:
    """One value a line; nothing is cut off."""
    console = Console(highlight=False, soft_wrap=True)
    values = {entry.kind.value: _id(entry), **entry.thing.model_dump(exclude={"retired_at"})}
    for need in above:
        values[f"its {need.kind}"] = f"{need.thing.name}, {_at_a_glance(need)}"
    values["needed by sensors"] = ", ".join(below) or "none"
    width = max(map(len, values))
    for key, value in values.items():
        console.print(f"{key:<{width}}  {value}", markup=False)


def _id(entry: Entry) -> str:
    at = entry.thing.retired_at
    return f"{entry.id} (retired {at:%Y-%m-%d})" if at else entry.id


def _at_a_glance(entry: Entry) -> str:
    thing = entry.thing
    return thing.location if isinstance(thing, Device) else getattr(thing, "unit", "")


def _and_sensor_count(known: Registered, entry: Entry) -> tuple[str, ...]:
    return _at_a_glance(entry), str(len(known.dependents(entry.kind, entry.id)))


def _sensor(known: Registered, entry: Entry) -> tuple[str, ...]:
    sensor = entry.thing
    if not isinstance(sensor, Sensor):
        raise TypeError(entry)
    measured = known.get(RegisteredKind.SENSOR_TYPE, sensor.sensor_type_id)
    unit = measured.unit if isinstance(measured, SensorType) else ""
    return sensor.device_id, sensor.sensor_type_id, unit


_COLUMNS: dict[RegisteredKind, tuple[tuple[str, ...], Cells]] = {
    RegisteredKind.DEVICE: (("location", "sensors"), _and_sensor_count),
    RegisteredKind.SENSOR: (("device", "sensor type", "unit"), _sensor),
    RegisteredKind.SENSOR_TYPE: (("unit", "sensors"), _and_sensor_count),
}
