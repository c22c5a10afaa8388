"""`docker compose up`, what can be seen of it, what is killed, and what is left of it."""

from __future__ import annotations

import json
import time

import pytest

from tests.containers.compose import SERVICES, SITES, WELL_S, Platform
from tests.support import wait_until
from tests.unit.secrets.test_what_programs_read import NEEDED, THINGS

pytestmark = pytest.mark.timeout(5400)
_LOOPBACK = "127.0.0.1"
_OPEN = {"airflow-api-server", "gateway-plant-a", "gateway-plant-b"}
_KEY = "/opt/millrace/var/authority"
_SITES_IN_SILVER = """
from deltalake import DeltaTable, QueryBuilder
from millrace.storage.io.table_access import storage_options
from millrace.platform.io.environment import platform_here

layout = platform_here()
place = layout.table("silver", "temperature").replace("s3a://", "s3://")
table = DeltaTable(place, storage_options=storage_options(layout.bucket))
batches = QueryBuilder().register("silver", table).execute("SELECT DISTINCT site FROM silver")
print(*(site for batch in batches for column in batch.columns for site in column.to_pylist()))
"""
# Each loses its memory at once; who comes first is gone when the next one goes.
_CRASHES = (
    "kafka-plant-a",
    "gateway-plant-b",
    "object-store",
    "spark-worker-1",
    "jobs",
    "relay-to-centre",
    "kafka-centre",
    "postgres",
    "airflow-scheduler",
)


def test_one_command_brings_every_service_to_health(platform: Platform) -> None:
    states = {name: one["State"] for name, one in platform.containers().items()}
    ended = {"prepare", "open"}
    assert states.keys() == SERVICES | ended
    assert {states[name]["ExitCode"] for name in ended} == {0}


def test_rows_of_both_sites_reach_silver(platform: Platform) -> None:
    platform.await_more_rows()
    sites = platform.inside("jobs", ".venv/bin/python", "-c", _SITES_IN_SILVER).split()
    assert set(sites) == set(SITES)


def test_relayed_messages_reach_the_centre(platform: Platform) -> None:
    before = platform.relayed()
    wait_until(lambda: platform.relayed() > before, WELL_S, "more of them at the centre", poll_s=1)


def test_what_listens_for_others_listens_on_loopback_alone(platform: Platform) -> None:
    published = {
        name: [
            one["HostIp"]
            for ports in (bound["HostConfig"]["PortBindings"] or {}).values()
            for one in ports
        ]
        for name, bound in platform.containers().items()
    }
    assert {name for name, hosts in published.items() if hosts} == _OPEN
    assert {host for hosts in published.values() for host in hosts} == {_LOOPBACK}


def test_nobody_is_root_and_nobody_can_become_it(platform: Platform) -> None:
    for name, one in platform.containers().items():
        host = one["HostConfig"]
        assert host["CapDrop"] == ["ALL"], name
        assert "no-new-privileges:true" in host["SecurityOpt"], name
        assert not host["Privileged"], name
        assert (one["Config"]["User"] == "0:0") == (name == "prepare"), name
    assert platform.inside("kafka-plant-a", "id", "-u").strip() == "10001"


def test_the_authoritys_key_is_the_schedulers_alone(platform: Platform) -> None:
    mounted = {
        name for name, one in platform.containers().items() if _KEY in _destinations(one["Mounts"])
    }
    assert mounted == {"prepare", "airflow-scheduler"}


def test_each_container_opens_what_it_needs_and_nothing_else(platform: Platform) -> None:
    named = {str(path): name for name, path in THINGS.items()}
    look = f"for f in {' '.join(named)}; do if [ -r $f ]; then echo $f; fi; done"
    opened = {
        service: {named[file] for file in platform.inside(service, "sh", "-c", look).split()}
        for service in SERVICES
    }
    there = set[str]().union(*opened.values())
    assert {"administrator of plant-a", "key of broker centre-2", "Spark's settings"} <= there
    assert opened == {service: NEEDED[service] & there for service in SERVICES}


def test_no_secret_is_in_what_the_engine_tells(platform: Platform) -> None:
    find = "cat var/secrets/*/*.properties | sed -n 's/^password=//p'"
    secrets = set(platform.inside("airflow-scheduler", "sh", "-c", find).split())
    secrets.add(
        platform.inside("airflow-scheduler", "cat", "var/secrets/airflow/password.txt").strip()
    )
    told = json.dumps(platform.containers()) + platform.logs()
    assert len(secrets) > len(SITES)
    assert not [secret for secret in secrets if secret in told]


def test_what_crashes_comes_back_and_nothing_is_lost_or_doubled(platform: Platform) -> None:
    for service in _CRASHES:
        began = time.monotonic()
        platform.crash(service)
        platform.await_well(service)
        platform.await_more_rows()
        print(f"{service}: rows of both sites {time.monotonic() - began:.0f} s after its crash")  # noqa: T201
    relayed = platform.relayed()
    wait_until(lambda: platform.relayed() > relayed, WELL_S, "relayed messages", poll_s=1)
    assert platform.verify()["whole"]


def test_what_was_killed_by_hand_is_back_after_another_up(platform: Platform) -> None:
    """A kill that was asked for is no crash: the engine leaves it at that."""
    for service in ("kafka-plant-b", "jobs", "airflow-api-server"):
        platform.engine.docker("kill", platform.id_of(service))
    platform.up()
    platform.await_more_rows()


def test_a_stack_that_was_taken_down_goes_on_where_it_was(platform: Platform) -> None:
    before = _records(platform)
    platform.compose("down")
    platform.up()
    platform.await_more_rows()
    proved = platform.verify()
    assert proved["whole"]
    assert sum(part["rows"] for part in proved["parts"]) > before


def test_nothing_is_left_of_one_that_is_deleted(platform: Platform) -> None:
    assert platform.leftovers()
    platform.compose("down", "--volumes")
    assert platform.leftovers() == []


def _destinations(mounts: list[dict[str, str]]) -> set[str]:
    return {mount["Destination"] for mount in mounts}


def _records(platform: Platform) -> int:
    return sum(platform.rows().values())
