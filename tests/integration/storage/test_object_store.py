"""The object store as it is started here: who it serves, and what it promises."""

from __future__ import annotations

import stat
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import boto3
import grpc
import pytest
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError

from millrace.base.addresses import LOCAL_NAMES
from millrace.jobs.io import generations
from millrace.lake.io.tables import ensure_bronze, open_table
from millrace.secrets.io.pki import ensure_server_certificate
from millrace.stack.io.object_store import UnsafeStoreError, check_bucket
from millrace.storage.core.store_server import PORTS_NEEDED
from millrace.storage.io.buckets import client
from millrace.storage.io.objects import objects_at
from tests.callers import (
    HTTP,
    IN,
    LOGIN,
    NO,
    NO_RIGHT,
    Hall,
    answers_of,
    enter,
    expected,
    is_served_in_plain_text,
    status_by_https,
)
from tests.integration.stands.lake.faulty_store import (
    Answer,
    Ask,
    Fault,
    FaultyStore,
    faulty,
    lose_answer,
    refuse_as_conflict,
)
from tests.integration.stands.lake.object_store import RunningStore


@pytest.fixture
def place(store: RunningStore) -> str:
    return f"{store.bucket.uri}/tests/{uuid.uuid4().hex}"


@pytest.fixture
def proxy(store: RunningStore) -> Iterator[FaultyStore]:
    certificate, key = ensure_server_certificate(store.layout, "proxy", LOCAL_NAMES)
    with faulty(store.bucket, certificate, key) as running:
        yield running


@pytest.fixture(scope="module")
def hall(store: RunningStore, tmp_path_factory: pytest.TempPathFactory) -> Hall:
    return enter(store.layout, "plant-a", tmp_path_factory.mktemp("callers"))


def test_its_parts_serve_each_other_alone(store: RunningStore, hall: Hall) -> None:
    for port, method in PARTS.items():
        tell = by_grpc(store, port_of(store) + port, method) if method else by_http(store, port)
        assert answers_of(hall, tell) == expected("store, parts"), port
        assert not is_served_in_plain_text(port_of(store) + port, *HTTP)


def test_its_sockets_outside_of_its_folder_are_those_that_are_removed(store: RunningStore) -> None:
    """With its last process: what it leaves there itself depends on how it ends."""
    ports = range(port_of(store), port_of(store) + PORTS_NEEDED)
    found = {file for port in ports for file in Path("/tmp").glob(f"*-{port}.sock")}  # noqa: S108
    assert found == set(store.program.outside)


def test_s3_asks_everybody_for_a_signature(store: RunningStore, hall: Hall) -> None:
    path = f"/{store.bucket.name}"

    def tell(certificate: Path | None) -> str:
        status = status_by_https(store.layout.ca, port_of(store), certificate, path, "")
        return {0: NO, 200: IN, 403: LOGIN}[status]

    assert answers_of(hall, tell) == expected("store, S3")
    assert not is_served_in_plain_text(port_of(store), *HTTP)
    client(store.bucket).list_objects_v2(Bucket=store.bucket.name)


def port_of(store: RunningStore) -> int:
    assert store.program.port
    return store.program.port


# Each port after that of S3, with a method of what speaks gRPC there.
PARTS = {
    1: "/iam_pb.SeaweedIdentityAccessManagement/ListUsers",
    2: "",
    3: "/master_pb.Seaweed/GetMasterConfiguration",
    4: "",
    5: "/volume_server_pb.VolumeServer/VolumeServerStatus",
    6: "",
    7: "/filer_pb.SeaweedFiler/GetFilerConfiguration",
}


def by_http(store: RunningStore, port: int) -> Callable[[Path | None], str]:
    """Whatever it says to whom it lets in."""

    def tell(certificate: Path | None) -> str:
        at = port_of(store) + port
        return IN if status_by_https(store.layout.parts_ca, at, certificate, "/", "") else NO

    return tell


def by_grpc(store: RunningStore, port: int, method: str) -> Callable[[Path | None], str]:
    ca = store.layout.parts_ca.read_bytes()

    def tell(certificate: Path | None) -> str:
        pem = certificate.read_bytes() if certificate else None
        shown = grpc.ssl_channel_credentials(ca, pem, pem)
        with grpc.secure_channel(f"127.0.0.1:{port}", shown) as channel:
            try:
                channel.unary_unary(method)(b"", timeout=10)
            except grpc.RpcError as error:
                return GRPC_WORDS[error.code()]
        return IN

    return tell


GRPC_WORDS = {
    grpc.StatusCode.UNAVAILABLE: NO,
    grpc.StatusCode.UNAUTHENTICATED: NO_RIGHT,
    grpc.StatusCode.PERMISSION_DENIED: NO_RIGHT,
    # It would, if it could.
    grpc.StatusCode.UNIMPLEMENTED: IN,
}


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
