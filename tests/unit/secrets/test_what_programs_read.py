"""Which program of `docker-compose.yml` can open which key and which password: all of both.

A container sees a file where a volume of its own holds what `prepare` has written there.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest
import yaml

from millrace.platform.core.platform import Platform
from millrace.schemas.core.registry import NAME as REGISTRY
from millrace.schemas.core.registry import User
from millrace.sites.core.simulation import SIMULATOR_KEY
from millrace.sites.core.user_names import (
    APP,
    GATEWAY,
    INGEST,
    PLATFORM,
    REGISTRAR,
    RELAY,
    SIMULATOR,
    SITE_USERS,
)

CHECKOUT = Path(__file__).resolve().parents[3]
SERVICES = yaml.safe_load((CHECKOUT / "docker-compose.yml").read_text())["services"]
HOME = PurePosixPath("/opt/millrace")
LAYOUT = Platform(Path(HOME), apart=True)
SITES, CENTRE = ("plant-a", "plant-b"), ("centre", "centre-2", "centre-3")
# A site that is added while the containers run has no volumes of its own.
LATER = "plant-c"


def _things() -> dict[str, Path]:
    """Every file that holds a secret, by what it is."""
    found = {
        "key of the root": LAYOUT.ca_key,
        "key of Airflow's server": LAYOUT.pki / "airflow" / "key.pem",
        "key of the object store": LAYOUT.pki / "object-store" / "key.pem",
        "key of the object store's parts": LAYOUT.pki / "object-store" / "parts-key.pem",
        "authority of the object store's parts": LAYOUT.parts_key,
        "key of the registry": LAYOUT.pki / REGISTRY / "key.pem",
        "key of Spark's pages": LAYOUT.pki / "spark" / "key.pem",
        "Airflow's password": LAYOUT.airflow_password,
        "Airflow's keys": LAYOUT.airflow_secrets,
        "Airflow's settings": LAYOUT.airflow / "airflow.cfg",
        "Airflow's connections": LAYOUT.airflow_connections,
        "Postgres' password": LAYOUT.postgres_password,
        "Postgres' data": LAYOUT.postgres / "data",
        "object store's login": LAYOUT.object_store_credentials,
        "object store's settings": LAYOUT.object_store / "security.toml",
        "registry's settings": LAYOUT.registry_folder / "registry.properties",
        "Spark's secret": LAYOUT.cluster_secret,
        "Spark's settings": LAYOUT.cluster_folder / "daemons.conf",
    }
    for site in (*SITES, "centre", LATER):
        found[f"administrator of {site}"] = LAYOUT.certificate(site, "admin")
        for user in (*SITE_USERS, PLATFORM):
            found[f"{user} of {site}"] = LAYOUT.user_secret(site, user)
    for site in (*SITES, LATER):
        found[f"authority of devices of {site}"] = LAYOUT.devices_key(site)
        found[f"keys of devices of {site}"] = LAYOUT.device(site, "any")
        found[f"bundle of {site}"] = LAYOUT.bundles / f"{site}-gateway.tar.gz"
        found[f"key of the gateway of {site}, to hand over"] = LAYOUT.certificate(site, "gateway")
    for site in SITES:
        found[f"key of the simulator of {site}"] = LAYOUT.simulator(site) / SIMULATOR_KEY
        found[f"folder of the gateway of {site}"] = LAYOUT.gateway(site) / "password.properties"
    for node in (*SITES, *CENTRE):
        found[f"key of broker {node}"] = LAYOUT.broker_certificate(node)
    for user in User:
        found[f"registry's {user}"] = LAYOUT.user_secret(REGISTRY, user)
    return found


THINGS = _things()
_EVERYWHERE = (*SITES, "centre", LATER)


def _of(user: str) -> set[str]:
    return {f"{user} of {site}" for site in _EVERYWHERE}


_PASSWORDS = {name for name, path in THINGS.items() if path.is_relative_to(LAYOUT.secrets)}
_AIRFLOW = {
    *(name for name in _PASSWORDS if THINGS[name].parent == LAYOUT.airflow_secrets.parent),
    "Airflow's settings",
}
_STORE, _SPARK = {"object store's login"}, {"Spark's secret"}
_SITES_KEYS = {name for name, path in THINGS.items() if path.is_relative_to(LAYOUT.var / "keys")}
_FOR_SITES = _SITES_KEYS | {
    name
    for name in THINGS
    if name.startswith(("keys of devices", "bundle of")) or name in _PASSWORDS
}
_AUTHORITIES = {name for name in THINGS if name.startswith(("authority of", "key of the root"))}
# What each needs for its work, and so what it can read.
NEEDED: dict[str, set[str]] = {
    "prepare": set(THINGS),
    "open": _SITES_KEYS | _PASSWORDS | {"Airflow's settings", "Postgres' data"},
    "cli": _FOR_SITES | {"Airflow's settings"},
    # Its tasks provision, sign, and hand over to gateways.
    "airflow-scheduler": _FOR_SITES
    | _AUTHORITIES
    | {"Airflow's settings", *(f"folder of the gateway of {site}" for site in SITES)},
    "airflow-api-server": _AIRFLOW | _STORE | {"key of Airflow's server"},
    "airflow-triggerer": _AIRFLOW | _STORE | _of(PLATFORM),
    "airflow-dag-processor": _AIRFLOW,
    "postgres": {"Postgres' data"},
    "jobs": _of(INGEST) | _STORE | _SPARK,
    "spark-master": {"Spark's settings"},
    "spark-worker-1": _of(INGEST) | _STORE | _SPARK | {"Spark's settings"},
    "spark-worker-2": _of(INGEST) | _STORE | _SPARK | {"Spark's settings"},
    "relay-to-centre": _of(RELAY),
    "object-store": {
        "object store's settings",
        "key of the object store",
        "key of the object store's parts",
    },
    "schema-registry": {"registry's settings", "key of the registry"},
    **{f"gateway-{site}": {f"folder of the gateway of {site}"} for site in SITES},
    **{f"simulator-{site}": {f"key of the simulator of {site}"} for site in SITES},
    **{f"kafka-{node}": {f"key of broker {node}"} for node in (*SITES, *CENTRE)},
}


def volumes(service: str) -> dict[str, str]:
    mounts = (text.split(":") for text in SERVICES[service].get("volumes", ()))
    return {mount[1]: mount[0] for mount in mounts}


def volume_of(path: Path, service: str) -> str | None:
    """What a program finds there: the volume whose place is nearest above."""
    mounts = volumes(service)
    places = [place for place in mounts if path.is_relative_to(place)]
    return mounts[max(places, key=len)] if places else None


def readable(service: str) -> set[str]:
    return {
        name
        for name, path in THINGS.items()
        if (found := volume_of(path, service)) and found == volume_of(path, "prepare")
    }


def test_the_table_names_every_service():
    assert NEEDED.keys() == SERVICES.keys()


@pytest.mark.parametrize("service", SERVICES)
def test_a_program_reads_what_it_needs_and_nothing_else(service):
    assert readable(service) == NEEDED[service]


@pytest.mark.parametrize("service", SERVICES.keys() - {"prepare"})
def test_whoever_talks_to_devices_or_to_the_outside_holds_no_administrators_key(service):
    outside = ("gateway-", "simulator-", "relay-", "kafka-", "spark-", "jobs", "schema-", "object-")
    keys = {name for name in readable(service) if "administrator" in name or "root" in name}
    assert not (keys and service.startswith(outside))


@pytest.mark.parametrize("service", SERVICES.keys() - {"prepare"})
def test_a_key_is_writable_by_whoever_makes_it_alone(service):
    """A program that could replace a key or password would be whom it likes from then on."""
    makes = {"open": {"secrets"}, "airflow-scheduler": {"authority", "keys", "secrets", "devices"}}
    shut = ("authority", "pki", "keys", "secrets", "devices", "simulator", "programs")
    for text in SERVICES[service].get("volumes", ()):
        name, place, *mode = text.split(":")
        if PurePosixPath(place).is_relative_to(HOME / "var") and name.startswith(shut):
            allowed = {*makes.get(service, ()), "pki" if service == "airflow-scheduler" else ""}
            assert mode == ["ro"] or name.split("-")[0] in allowed, (service, text)


def test_no_user_of_a_site_is_forgotten_in_the_table():
    users = {APP, GATEWAY, INGEST, REGISTRAR, RELAY, SIMULATOR}
    assert set(SITE_USERS) == users


def test_no_thing_of_the_table_stands_for_two():
    for site in (*SITES, "centre", LATER):
        for user in (*SITE_USERS, PLATFORM):
            assert THINGS[f"{user} of {site}"] == LAYOUT.user_secret(site, user)
