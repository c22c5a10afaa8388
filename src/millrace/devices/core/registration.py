"""Devices, sensors and sensor types that are registered, and who needs whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import StringConstraints

from millrace.base.errors import MillraceError
from millrace.base.model import Frozen
from millrace.base.suggest import did_you_mean


class RegisteredKind(StrEnum):
    DEVICE = "device"
    SENSOR = "sensor"
    SENSOR_TYPE = "sensor-type"

    @property
    def topic(self) -> str:
        """Compacted: the newest message under an id says what is registered under it."""
        return f"{self}-registration"


# An id is a message's key, and stands in measurements.
ObjectId = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]*$", max_length=128)
]
Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Prose = Annotated[str, StringConstraints(strip_whitespace=True, max_length=2000)]


class Thing(Frozen):
    """What is registered under an id. A retired one stays, so that old measurements keep a name."""

    name: Words
    description: Prose = ""
    retired_at: datetime | None = None


class Device(Thing):
    location: Words


class Sensor(Thing):
    device_id: ObjectId
    sensor_type_id: ObjectId


class SensorType(Thing):
    unit: Words


MODELS: Mapping[RegisteredKind, type[Thing]] = {
    RegisteredKind.DEVICE: Device,
    RegisteredKind.SENSOR: Sensor,
    RegisteredKind.SENSOR_TYPE: SensorType,
}


class RegistrationError(MillraceError):
    """A registration that cannot be."""


class NotRegisteredError(RegistrationError):
    """There is no such thing."""


@dataclass(frozen=True)
class Entry:
    """One registered thing with its id."""

    kind: RegisteredKind
    id: str
    thing: Thing

    def __str__(self) -> str:
        return f"{self.kind} {self.id!r}"


@dataclass(frozen=True)
class Registered:
    """All that a site has registered, retired things among them."""

    things: Mapping[RegisteredKind, Mapping[str, Thing]]

    def get(self, kind: RegisteredKind, object_id: str) -> Thing | None:
        return self.things.get(kind, {}).get(object_id)

    def find(self, kind: RegisteredKind, object_id: str) -> Entry:
        thing = self.get(kind, object_id)
        if thing is None:
            known = self.things.get(kind, {})
            guess = did_you_mean(object_id, known) or (
                f"'millrace register {kind} {object_id} ...' registers it"
            )
            raise NotRegisteredError(f"{kind} {object_id!r} is not registered; {guess.strip()}")
        return Entry(kind, object_id, thing)

    def entries(self, *, retired: bool = True) -> Iterator[Entry]:
        for kind in RegisteredKind:
            for object_id, thing in sorted(self.things.get(kind, {}).items()):
                if retired or thing.retired_at is None:
                    yield Entry(kind, object_id, thing)

    def dependents(self, kind: RegisteredKind, object_id: str) -> list[str]:
        """Ids of the sensors that need it and are not retired."""
        return [
            entry.id
            for entry in self.entries(retired=False)
            if (kind, object_id) in needs(entry.thing)
        ]


def needs(thing: Thing) -> list[tuple[RegisteredKind, str]]:
    """What has to be registered, and in use, for this one to be."""
    if not isinstance(thing, Sensor):
        return []
    return [
        (RegisteredKind.DEVICE, thing.device_id),
        (RegisteredKind.SENSOR_TYPE, thing.sensor_type_id),
    ]


@dataclass(frozen=True)
class EntryFilter:
    """Which entries to show; what is None does not matter."""

    kind: RegisteredKind | None = None
    device: str | None = None
    sensor_type: str | None = None
    retired: bool = False


def select(known: Registered, wanted: EntryFilter) -> list[Entry]:
    """With a device or a sensor type named: its sensors."""
    named = {
        (RegisteredKind.DEVICE, wanted.device),
        (RegisteredKind.SENSOR_TYPE, wanted.sensor_type),
    } - {(RegisteredKind.DEVICE, None), (RegisteredKind.SENSOR_TYPE, None)}
    for kind, object_id in named:
        known.find(kind, str(object_id))
    return [
        entry
        for entry in known.entries(retired=wanted.retired)
        if wanted.kind in (None, entry.kind) and named <= set(needs(entry.thing))
    ]
