"""The object store as it is started here: who it serves, and what it promises."""

from __future__ import annotations

import socket
import ssl
import stat
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import boto3
import pytest
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError

from millrace.core.addresses import LOCAL_NAMES
from millrace.core.object_store import PORTS_NEEDED
from millrace.lake.tables import ensure_bronze, open_table
from millrace.local.object_store import UnsafeStoreError, check_bucket
from millrace.local.pki import ensure_server_certificate
from millrace.state import generations
from millrace.state.objects import objects_at
from tests.integration.faulty_store import (
    Answer,
    Ask,
    Fault,
    FaultyStore,
    faulty,
    lose_answer,
    refuse_as_conflict,
)
from tests.integration.object_store import RunningStore


@pytest.fixture
def place(store: RunningStore) -> str:
    return f"{store.bucket.uri}/tests/{uuid.uuid4().hex}"


@pytest.fixture
def proxy(store: RunningStore) -> Iterator[FaultyStore]:
    certificate, key = ensure_server_certificate(store.layout, "proxy", LOCAL_NAMES)
    with faulty(store.bucket, certificate, key) as running:
        yield running


def test_no_part_serves_who_has_no_certificate(store: RunningStore) -> None:
    s3, *others = range(port_of(store), port_of(store) + PORTS_NEEDED)
    assert is_served_without_certificate(store, s3), "S3 asks for a signature instead"
    assert [port for port in others if is_served_without_certificate(store, port)] == []


def port_of(store: RunningStore) -> int:
    assert store.program.port
    return store.program.port


def is_served_without_certificate(store: RunningStore, port: int) -> bool:
    trust = ssl.create_default_context(cafile=str(store.bucket.ca_file))
    trust.set_alpn_protocols(["h2", "http/1.1"])
    with socket.create_connection(("127.0.0.1", port), timeout=5) as plain:
        try:
            with trust.wrap_socket(plain, server_hostname="127.0.0.1") as talk:
                talk.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                return bool(talk.recv(100))
        except ssl.SSLError as error:
            assert "CERTIFICATE_REQUIRED" in str(error)  # noqa: PT017 - not raised when served
            return False


def test_nothing_is_done_for_who_has_no_key(store: RunningStore) -> None:
    nobody = boto3.client(
        "s3",
        endpoint_url=store.bucket.endpoint,
        verify=str(store.bucket.ca_file),
        region_name=store.bucket.region,
        config=Config(signature_version=UNSIGNED, s3={"addressing_style": "path"}),
    )
    with pytest.raises(ClientError, match="AccessDenied"):
        nobody.list_objects_v2(Bucket=store.bucket.name)
    with pytest.raises(ClientError, match="AccessDenied"):
        nobody.put_object(Bucket=store.bucket.name, Key="x", Body=b"x")


def test_its_files_are_the_owner_s_alone(store: RunningStore) -> None:
    files = [f for f in store.layout.object_store.iterdir() if f.is_file()]
    assert store.bucket.credentials_file
    modes = {stat.S_IMODE(f.stat().st_mode) for f in (*files, store.bucket.credentials_file)}
    assert modes == {0o600}


def test_a_generation_in_a_bucket_has_one_owner(store: RunningStore, place: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lambda _: generations.claim(place, 1, store.bucket), range(24)))
    assert won.count(True) == 1
    assert generations.latest(place, store.bucket) == 1


def test_two_makers_at_once_make_one_table_in_a_bucket(store: RunningStore, place: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: ensure_bronze(place, store.bucket), range(4)))
    assert made.count(True) == 1
    assert open_table(place, store.bucket).version() == 0


@pytest.mark.parametrize("fault", [lose_answer, refuse_as_conflict])
def test_a_claim_that_met_a_fault_is_ours_once(
    proxy: FaultyStore, place: str, fault: object
) -> None:
    met = proxy.add(Fault("PUT", "/1$", fault))
    assert generations.claim(place, 1, proxy.bucket)
    assert met.happened == 1
    assert not generations.claim(place, 1, proxy.bucket)


def test_a_claim_of_another_is_not_ours_whose_answer_was_lost(
    proxy: FaultyStore, place: str
) -> None:
    objects = objects_at(place, proxy.bucket)
    assert objects.put_new("1", "theirs")
    proxy.add(Fault("PUT", "/1$", lose_answer))
    assert not objects.put_new("1", "ours")


def test_a_store_that_takes_a_second_put_is_not_used(proxy: FaultyStore) -> None:
    def take(_: Ask) -> Answer:
        return 200, [("ETag", '"1"')], b""

    proxy.add(Fault("PUT", "/probes/", take, times=2))
    with pytest.raises(UnsafeStoreError, match="If-None-Match"):
        check_bucket(proxy.bucket)
    check_bucket(proxy.bucket)
