"""Which certificates are told of before they end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from rich.console import Console

from millrace.base.addresses import LOCAL_NAMES
from millrace.fleet.core.platform_status import AirflowAccess, StackStatus
from millrace.fleet.io.expiring_certificates import ending
from millrace.fleet.text import show
from millrace.platform.core.platform import Platform
from millrace.secrets.core.certificates import Role, certificate_pem, make_authority, new_key
from millrace.secrets.io.pki import (
    ensure_certificate,
    ensure_device_authority,
    ensure_parts_certificate,
    ensure_server_certificate,
)

NOW = datetime.now(UTC)
SERVERS = {"pki/airflow/cert.pem", "pki/object-store/cert.pem", "pki/object-store/parts.pem"}
OTHERS = {"keys/plant-a/admin.pem", "kafka/plant-a/broker.pem"}
AUTHORITIES = {"pki/ca.pem", "pki/object-store/parts-ca.pem", "pki/plant-a/devices.pem"}


@pytest.fixture
def layout(tmp_path: Path) -> Platform:
    layout = Platform(tmp_path)
    for name in ("airflow", "object-store"):
        ensure_server_certificate(layout, name, LOCAL_NAMES)
    ensure_parts_certificate(layout, "object-store", LOCAL_NAMES)
    ensure_device_authority(layout, "plant-a")
    ensure_certificate(layout, layout.certificate("plant-a", "admin"), "a", Role.CLIENT)
    ensure_certificate(layout, layout.broker_certificate("plant-a"), "b", Role.PEER)
    return layout


@pytest.mark.parametrize(
    ("days", "told"),
    [
        (0, set()),
        (764, set()),
        (766, SERVERS | OTHERS),
        (3284, SERVERS | OTHERS),
        (3286, SERVERS | OTHERS | AUTHORITIES),
    ],
)
def test_what_ends_soon_is_told_of(layout: Platform, days: int, told: set[str]) -> None:
    found = ending(layout, NOW + timedelta(days=days))
    assert {str(one.file.relative_to(layout.var)) for one in found} == told


def test_the_next_one_is_told_of_first(layout: Platform) -> None:
    ends = [one.until for one in ending(layout, NOW + timedelta(days=3286))]
    assert ends == sorted(ends)


def test_an_authority_whose_place_another_takes_is_told_of_no_more(layout: Platform) -> None:
    later = NOW + timedelta(days=3286)
    assert layout.ca in {one.file for one in ending(layout, later)}
    another = make_authority(new_key(), later)
    layout.ca.write_text(layout.ca.read_text() + certificate_pem(another))
    assert layout.ca not in {one.file for one in ending(layout, later)}


def test_a_file_that_is_no_certificate_hides_no_other(layout: Platform) -> None:
    (layout.pki / "airflow" / "broken.pem").write_text("-----BEGIN CERTIFICATE-----")
    assert len(ending(layout, NOW + timedelta(days=766))) == len(SERVERS | OTHERS)


def test_status_names_the_file_and_the_day(layout: Platform) -> None:
    access = AirflowAccess(url="", user="", password_file=layout.airflow_password)
    found = ending(layout, NOW + timedelta(days=766))
    seen = StackStatus(
        up=True, store="", airflow=access, sites={}, pipelines={}, processes=(), ending=found
    )
    console = Console(record=True, width=80)
    show(seen, console)
    said = console.export_text()
    assert f"{found[0].file} ends on {found[0].until:%Y-%m-%d}" in said
