"""Registering and retiring: what a wish comes to, or why it cannot be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from pydantic import TypeAdapter, ValidationError

from millrace.devices.core.registration import (
    MODELS,
    Entry,
    ObjectId,
    Registered,
    RegisteredKind,
    RegistrationError,
    SensorType,
    Thing,
    needs,
)

_SHOWN = 5
# Where an option of the command line is not called as its field.
_OPTIONS = {"device_id": "--device", "sensor_type_id": "--sensor-type"}
_ID: TypeAdapter[str] = TypeAdapter(ObjectId)


class RegistrationOutcome(StrEnum):
    NEW = "registered"
    CHANGED = "changed"
    BACK = "brought back"
    RETIRED = "retired"
    SAME = "unchanged"


@dataclass(frozen=True)
class RegistrationChange:
    """What is to be under an id from now on, and in what that differs from before."""

    entry: Entry
    outcome: RegistrationOutcome
    differences: tuple[str, ...] = ()

    @property
    def is_needed(self) -> bool:
        return self.outcome is not RegistrationOutcome.SAME

    def __str__(self) -> str:
        return ": ".join(
            filter(None, (f"{self.entry} {self.outcome}", ", ".join(self.differences)))
        )


def plan_registration(
    known: Registered,
    kind: RegisteredKind,
    object_id: str,
    given: Mapping[str, str],
    *,
    again: bool = False,
) -> RegistrationChange:
    """Fields that are not given stay as they are; `again` brings back what is retired."""
    before = known.get(kind, object_id)
    if before and before.retired_at and not again:
        raise RegistrationError(
            f"{kind} {object_id!r} is retired since {before.retired_at:%Y-%m-%d %H:%M} UTC, and its"
            " id is nobody else's; take another id, or bring it back with --again"
        )
    kept = before.model_dump() | {"retired_at": None} if before else {}
    entry = _validated(kind, object_id, kept | dict(given))
    _check_needs(known, entry)
    _check_unit(known, entry, before)
    return RegistrationChange(
        entry, _outcome(before, entry.thing), tuple(_differences(before, entry.thing))
    )


def plan_retirement(
    known: Registered, kind: RegisteredKind, object_id: str, now: datetime
) -> RegistrationChange:
    """Refused while something in use needs it."""
    entry = known.find(kind, object_id)
    if entry.thing.retired_at:
        return RegistrationChange(entry, RegistrationOutcome.SAME)
    dependents = known.dependents(kind, object_id)
    if dependents:
        raise RegistrationError(
            f"{entry} is needed by {_counted(dependents)}; retire them first"
            f" ('millrace register retire sensor {dependents[0]}'), or register them elsewhere"
        )
    retired = entry.thing.model_copy(update={"retired_at": now})
    return RegistrationChange(Entry(kind, object_id, retired), RegistrationOutcome.RETIRED)


def _counted(sensors: list[str]) -> str:
    more = f" and {len(sensors) - _SHOWN} more" if len(sensors) > _SHOWN else ""
    word = "sensor" if len(sensors) == 1 else "sensors"
    return f"{word} {', '.join(sensors[:_SHOWN])}{more}"


def _validated(kind: RegisteredKind, object_id: str, fields: Mapping[str, object]) -> Entry:
    try:
        _ID.validate_python(object_id)
    except ValidationError as error:
        raise RegistrationError(
            f"{object_id!r} cannot be the id of a {kind}: write up to 128 letters, digits and"
            " . _ : - beginning with a letter or digit, such as press-7"
        ) from error
    try:
        return Entry(kind, object_id, MODELS[kind].model_validate(fields))
    except ValidationError as error:
        problems = "; ".join(_explained(error, fields))
        raise RegistrationError(f"{kind} {object_id!r}: {problems}") from error


def _explained(error: ValidationError, fields: Mapping[str, object]) -> Iterator[str]:
    missing = [_option(one["loc"]) for one in error.errors() if one["type"] == "missing"]
    if missing:
        yield f"it is new, so give it {' and '.join(missing)}"
    for one in error.errors():
        if one["type"] != "missing":
            option, value = _option(one["loc"]), fields[str(one["loc"][0])]
            yield f"{option}={value!r} cannot be: {one['msg'].lower()}"


def _option(path: tuple[int | str, ...]) -> str:
    field = str(path[0])
    return _OPTIONS.get(field, f"--{field}")


def _check_needs(known: Registered, entry: Entry) -> None:
    for kind, object_id in needs(entry.thing):
        needed = known.find(kind, object_id)
        if needed.thing.retired_at:
            raise RegistrationError(
                f"{entry} needs {needed}, which is retired; name another, or bring it back"
                f" ('millrace register {kind} {object_id} --again')"
            )


def _check_unit(known: Registered, entry: Entry, before: Thing | None) -> None:
    """Values that were measured already do not change with their unit's name."""
    if not isinstance(before, SensorType) or not isinstance(entry.thing, SensorType):
        return
    sensors = known.dependents(entry.kind, entry.id)
    if sensors and entry.thing.unit != before.unit:
        raise RegistrationError(
            f"{entry} has unit {before.unit!r}, in which {_counted(sensors)} measured; register"
            " another sensor type with the new unit, and the sensors with it"
        )


def _outcome(before: Thing | None, after: Thing) -> RegistrationOutcome:
    if before is None:
        return RegistrationOutcome.NEW
    if before.retired_at:
        return RegistrationOutcome.BACK
    return RegistrationOutcome.SAME if before == after else RegistrationOutcome.CHANGED


def _differences(before: Thing | None, after: Thing) -> Iterator[str]:
    if before is None:
        return
    old, new = before.model_dump(), after.model_dump()
    for field in sorted(new.keys() - {"retired_at"}):
        if old[field] != new[field]:
            yield f"{field} {old[field]!r} becomes {new[field]!r}"
