"""What may be registered and retired, and what each wish comes to."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from millrace.devices.core.registration import (
    Device,
    Entry,
    EntryFilter,
    NotRegisteredError,
    Registered,
    RegisteredKind,
    RegistrationError,
    Sensor,
    SensorType,
    select,
)
from millrace.devices.core.registration_change import (
    RegistrationChange,
    RegistrationOutcome,
    plan_registration,
    plan_retirement,
)

NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
PRESS = Device(name="Press 7", location="Hall 2")
OLD = Device(name="Press 1", location="Hall 1", retired_at=NOW)
CELSIUS = SensorType(name="Temperature", unit="C")
BAR = SensorType(name="Pressure", unit="bar")
OIL = Sensor(name="Oil", device_id="press-7", sensor_type_id="celsius")
GONE = Sensor(name="Gone", device_id="press-1", sensor_type_id="celsius", retired_at=NOW)
KNOWN = Registered(
    {
        RegisteredKind.DEVICE: {"press-7": PRESS, "press-1": OLD},
        RegisteredKind.SENSOR: {"oil": OIL, "gone": GONE},
        RegisteredKind.SENSOR_TYPE: {"celsius": CELSIUS, "bar": BAR},
    }
)
NOTHING = Registered({})


def register(
    kind: str, object_id: str, known=KNOWN, again: bool = False, **given: str
) -> RegistrationChange:
    return plan_registration(known, RegisteredKind(kind), object_id, given, again=again)


def retire(kind: str, object_id: str) -> RegistrationChange:
    return plan_retirement(KNOWN, RegisteredKind(kind), object_id, NOW)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            register("device", "d", NOTHING, name="D", location="Hall"),
            "device 'd' registered",
        ),
        (
            register("sensor", "s", name="S", device_id="press-7", sensor_type_id="bar"),
            "sensor 's' registered",
        ),
        (register("sensor-type", "t", name="T", unit="1"), "sensor-type 't' registered"),
        (
            register("device", "press-7", name="Press 7", location="Hall 2"),
            "device 'press-7' unchanged",
        ),
        (register("device", "press-7"), "device 'press-7' unchanged"),
        (
            register("device", "press-7", location=" Hall 3 "),
            "device 'press-7' changed: location 'Hall 2' becomes 'Hall 3'",
        ),
        (
            register("sensor", "oil", sensor_type_id="bar", description="cold"),
            "sensor 'oil' changed: description '' becomes 'cold',"
            " sensor_type_id 'celsius' becomes 'bar'",
        ),
        (register("device", "press-1", again=True), "device 'press-1' brought back"),
        (register("device", "press-7", again=True), "device 'press-7' unchanged"),
        (
            register("sensor-type", "bar", unit="mbar"),
            "sensor-type 'bar' changed: unit 'bar' becomes 'mbar'",
        ),
        (retire("sensor", "oil"), "sensor 'oil' retired"),
        (retire("sensor-type", "bar"), "sensor-type 'bar' retired"),
        (retire("sensor", "gone"), "sensor 'gone' unchanged"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wish_comes_to(change, said):
    assert str(change) == said
    assert change.is_needed == ("unchanged" not in said)


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        (lambda: register("device", "d"), ["'d'", "new", "--name and --location"]),
        (lambda: register("sensor", "s", name="S"), ["--device and --sensor-type"]),
        (lambda: register("sensor-type", "t", name="T"), ["give it --unit"]),
        (lambda: register("device", "press 8", name="P", location="H"), ["'press 8'", "press-7"]),
        (lambda: register("device", "press-7", name=" "), ["--name=' '", "at least 1"]),
        (
            lambda: register("sensor", "s", name="S", device_id="press-8", sensor_type_id="bar"),
            ["device 'press-8' is not registered", "did you mean 'press-7'"],
        ),
        (
            lambda: register("sensor", "s", name="S", device_id="press-7", sensor_type_id="%"),
            ["--sensor-type='%'"],
        ),
        (
            lambda: register("sensor", "s", name="S", device_id="press-7", sensor_type_id="lux"),
            ["sensor-type 'lux' is not registered", "millrace register sensor-type lux"],
        ),
        (
            lambda: register("sensor", "oil", device_id="press-1"),
            ["needs device 'press-1', which is retired", "register device press-1 --again"],
        ),
        (lambda: register("sensor", "gone", again=True), ["needs device 'press-1'", "retired"]),
        (
            lambda: register("device", "press-1", name="Press 8"),
            ["retired since 2026-01-02 03:04 UTC", "another id", "--again"],
        ),
        (
            lambda: register("sensor-type", "celsius", unit="F"),
            ["unit 'C'", "sensor oil", "another sensor type"],
        ),
        (
            lambda: retire("device", "press-7"),
            ["needed by sensor oil", "millrace register retire sensor oil"],
        ),
        (lambda: retire("sensor-type", "celsius"), ["needed by sensor oil"]),
        (lambda: retire("device", "press-77"), ["not registered", "did you mean 'press-7'"]),
    ],
)
def test_what_cannot_be_says_why_and_the_way_out(wish, words):
    with pytest.raises(RegistrationError) as caught:
        wish()
    assert [word for word in words if word not in str(caught.value)] == []


def test_a_retired_thing_keeps_its_words():
    retired = retire("sensor", "oil").entry.thing
    assert retired == OIL.model_copy(update={"retired_at": NOW})


def test_what_is_brought_back_is_in_use_again():
    change = register("device", "press-1", again=True)
    assert change.outcome is RegistrationOutcome.BACK
    assert change.entry.thing == OLD.model_copy(update={"retired_at": None})


def test_many_dependents_are_counted_and_some_are_named():
    sensors = {f"s{number}": OIL for number in range(8)}
    known = Registered({**KNOWN.things, RegisteredKind.SENSOR: sensors})
    with pytest.raises(RegistrationError, match=r"sensors s0, s1, s2, s3, s4 and 3 more"):
        plan_retirement(known, RegisteredKind.DEVICE, "press-7", NOW)


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        (EntryFilter(), ["press-7", "oil", "bar", "celsius"]),
        (EntryFilter(retired=True), ["press-1", "press-7", "gone", "oil", "bar", "celsius"]),
        (EntryFilter(kind=RegisteredKind.SENSOR), ["oil"]),
        (EntryFilter(device="press-7"), ["oil"]),
        (EntryFilter(device="press-1", retired=True), ["gone"]),
        (EntryFilter(device="press-7", sensor_type="celsius"), ["oil"]),
        (EntryFilter(device="press-7", sensor_type="bar"), []),
    ],
)
def test_list_shows_what_was_asked_for(wanted, ids):
    assert [entry.id for entry in select(KNOWN, wanted)] == ids


def test_a_filter_that_names_nothing_is_an_error():
    with pytest.raises(NotRegisteredError, match="did you mean 'press-7'"):
        select(KNOWN, EntryFilter(device="pres-7"))


def test_an_entry_names_its_kind():
    assert str(Entry(RegisteredKind.SENSOR_TYPE, "bar", BAR)) == "sensor-type 'bar'"
