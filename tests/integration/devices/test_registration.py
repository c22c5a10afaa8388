"""Registrations on a real broker: what is written, who shuts out whom, who may do what."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from click.testing import Result
from confluent_kafka import KafkaException, Producer
from typer.testing import CliRunner

from millrace.cli import app
from millrace.devices.core.registration import Registered, RegisteredKind
from millrace.devices.core.registration_change import (
    RegistrationChange,
    RegistrationOutcome,
    plan_registration,
    plan_retirement,
)
from millrace.devices.io.registrar import Registrar, UnreadableError
from millrace.settings.core.paths import HOME_VARIABLE
from tests.integration.conftest import RunningSite

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
DEVICE = {"name": "Press 7", "location": "Hall 2"}


def registrar(site: RunningSite, user: str = "registrar") -> Registrar:
    return Registrar(site.spec, site.settings(user), site.schemas)


def register(
    site: RunningSite, kind: RegisteredKind, object_id: str, **given: str
) -> RegistrationChange:
    return registrar(site).carry_out(lambda known: plan_registration(known, kind, object_id, given))


def versions(site: RunningSite, kind: RegisteredKind, object_id: str) -> int:
    key = object_id.encode()
    return sum(found == key for found, _ in site.consume("app", kind.topic))


def test_what_was_registered_is_read_back_by_its_readers(site):
    register(site, RegisteredKind.DEVICE, "read-back", **DEVICE)
    key, value = site.consume("app", "device-registration")[-1]
    schema = site.schemas.latest("device-registration")
    assert key == b"read-back"
    expected = {**DEVICE, "description": "", "retired_at": None}
    assert schema.decode(value) == expected
    thing = registrar(site).read().find(RegisteredKind.DEVICE, "read-back").thing
    assert thing.model_dump() == expected


def test_the_same_registration_again_writes_nothing(site):
    register(site, RegisteredKind.DEVICE, "twice", **DEVICE)
    assert (
        register(site, RegisteredKind.DEVICE, "twice", **DEVICE).outcome is RegistrationOutcome.SAME
    )
    assert versions(site, RegisteredKind.DEVICE, "twice") == 1


def test_a_retired_device_stays_on_record_with_its_time(site):
    register(site, RegisteredKind.DEVICE, "retires", **DEVICE)
    registrar(site).carry_out(
        lambda known: plan_retirement(known, RegisteredKind.DEVICE, "retires", NOW)
    )
    assert registrar(site).read().find(RegisteredKind.DEVICE, "retires").thing.retired_at == NOW


def test_a_decision_on_an_old_state_is_made_again(site):
    """A sensor is registered while its device is being retired: one of the two is refused."""
    register(site, RegisteredKind.DEVICE, "raced", **DEVICE)
    register(site, RegisteredKind.SENSOR_TYPE, "celsius", name="Temperature", unit="C")
    seen: list[bool] = []

    def retire(known: Registered) -> RegistrationChange:
        if not seen:
            sensor = {"name": "S", "device_id": "raced", "sensor_type_id": "celsius"}
            register(site, RegisteredKind.SENSOR, "raced-1", **sensor)
        seen.append(bool(known.dependents(RegisteredKind.DEVICE, "raced")))
        return plan_retirement(known, RegisteredKind.DEVICE, "raced", NOW)

    with pytest.raises(Exception, match="needed by sensor raced-1"):
        registrar(site).carry_out(retire)
    assert seen == [False, True]
    assert registrar(site).read().find(RegisteredKind.DEVICE, "raced").thing.retired_at is None


def test_registrars_at_once_lose_nothing_and_double_nothing(site):
    ids = [f"crowd-{number}" for number in range(6)]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda one: register(site, RegisteredKind.DEVICE, one, **DEVICE), ids))
    assert [versions(site, RegisteredKind.DEVICE, one) for one in ids] == [1] * 6


def test_what_a_killed_registrar_had_begun_counts_for_nothing(site):
    value = site.schemas.latest("device-registration").encode({**DEVICE, "description": ""})
    killed = Producer({**site.settings("registrar"), "transactional.id": "registrar"})
    killed.init_transactions(20)
    killed.begin_transaction()
    killed.produce("device-registration", value, b"half-done")
    killed.flush(20)
    assert registrar(site).read().get(RegisteredKind.DEVICE, "half-done") is None
    register(site, RegisteredKind.DEVICE, "after-the-kill", **DEVICE)
    assert registrar(site).read().get(RegisteredKind.DEVICE, "half-done") is None
    with pytest.raises(KafkaException):
        killed.commit_transaction(20)


def test_foreign_bytes_are_named_and_can_be_taken_back(site):
    site.produce("registrar", "sensor-registration", [(b"foreign", b"what is this")])
    with pytest.raises(UnreadableError, match=r"sensor-registration, offset \d+, key b'foreign'"):
        registrar(site).read()
    site.produce("registrar", "sensor-registration", [(b"foreign", None)])
    assert registrar(site).read().get(RegisteredKind.SENSOR, "foreign") is None


def test_others_may_read_registrations_and_not_write_them(site):
    assert registrar(site, "app").read().things
    with pytest.raises(Exception, match=r"'app' has no right to use transactional id 'registrar'"):
        registrar(site, "app").carry_out(
            lambda known: plan_registration(known, RegisteredKind.DEVICE, "no", DEVICE)
        )


@pytest.fixture
def checkout(site: RunningSite, tmp_path: Path) -> Path:
    """A home whose one site is the broker of these tests."""
    for part in ("schemas", "var"):
        (tmp_path / part).symlink_to(site.layout.home / part)
    (tmp_path / "dags" / "pipelines").mkdir(parents=True)
    (tmp_path / "dags" / "sites").mkdir()
    spec = site.spec.model_dump(exclude_defaults=True)
    (tmp_path / "dags" / "sites" / f"{site.spec.name}.yaml").write_text(yaml.safe_dump(spec))
    site.password_of("registrar")
    return tmp_path


def test_the_command_line_registers_lists_shows_and_retires(checkout, monkeypatch):
    monkeypatch.setenv(HOME_VARIABLE, str(checkout))

    def millrace(*words: str) -> Result:
        return CliRunner().invoke(app, ["register", *words])

    sensor_type = ("sensor-type", "dampness", "--name", "Dampness", "--unit", "%")
    device = ("device", "silo-1", "--name", "Silo 1", "--location", "Yard")
    sensor = ("sensor", "silo-1-h", "--name", "Air", "--device", "silo-1")
    assert millrace(*sensor_type).stdout == "sensor-type 'dampness' registered\n"
    assert millrace(*device).stdout == "device 'silo-1' registered\n"
    assert "give it --sensor-type" in str(millrace(*sensor).exception)
    made = json.loads(millrace(*sensor, "--sensor-type", "dampness", "--json").stdout)
    assert (made["id"], made["outcome"]) == ("silo-1-h", "registered")
    listed = json.loads(millrace("list", "--device", "silo-1", "--json").stdout)
    assert [one["id"] for one in listed] == ["silo-1-h"]
    shown = json.loads(millrace("show", "sensor", "silo-1-h", "--json").stdout)
    assert {one["id"]: one.get("unit") for one in shown["needs"]} == {
        "silo-1": None,
        "dampness": "%",
    }
    assert "silo-1-h" in millrace("show", "device", "silo-1").stdout
    refused = millrace("retire", "device", "silo-1")
    assert "needed by sensor silo-1-h" in str(refused.exception)
    assert millrace("retire", "sensor", "silo-1-h").exit_code == 0
    assert millrace("retire", "device", "silo-1").stdout == "device 'silo-1' retired\n"
    assert "silo-1" not in millrace("list").stdout
    assert "retired 20" in millrace("list", "--retired").stdout
