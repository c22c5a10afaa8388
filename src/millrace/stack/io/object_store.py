"""The object store on this machine: its files, its process, its bucket."""

from __future__ import annotations

import secrets
import uuid
from pathlib import Path

from botocore.exceptions import ClientError
from cryptography import x509
from cryptography.hazmat.primitives.serialization import NoEncryption, pkcs12

from millrace.base.addresses import LOCAL_NAMES
from millrace.base.errors import MillraceError, StoreUnreachableError
from millrace.processes.core.program import Program
from millrace.secrets.io.pki import ensure_parts_certificate, ensure_server_certificate
from millrace.settings.core.paths import Paths
from millrace.storage.core.bucket import Bucket
from millrace.storage.core.store_server import (
    NAME,
    TOKENS,
    identities,
    security,
    server_options,
    sockets_outside,
)
from millrace.storage.io.bucket_login import read_login
from millrace.storage.io.bucket_objects import BucketObjects
from millrace.storage.io.buckets import client, errors_named, is_absent
from millrace.storage.io.files import make_private, write_atomic, write_new

_USER = "millrace"


class UnsafeStoreError(MillraceError):
    def __init__(self, bucket: Bucket) -> None:
        super().__init__(
            f"{bucket.uri}: this object store takes a second put with 'If-None-Match: *', so two"
            " writers would overwrite each other's commits; use one that refuses it, such as AWS S3"
            " or SeaweedFS"
        )


def prepare_object_store(layout: Paths, bucket: Bucket, port: int) -> Program:
    """Everything up to the start of the process; done again, it changes nothing."""
    folder = layout.object_store
    make_private(folder, folder / "data")
    # Its own parts are on one machine, whoever else reaches it.
    hosts = sorted({*layout.own_hosts(NAME), *LOCAL_NAMES})
    certificate, key = ensure_server_certificate(layout, NAME, hosts)
    parts = ensure_parts_certificate(layout, NAME, LOCAL_NAMES)
    tokens = {name: secrets.token_urlsafe(32) for name in TOKENS}
    write_atomic(folder / "security.toml", security(layout.parts_ca, *parts, tokens))
    login = _ensure_login(bucket)
    text = identities(_USER, login["aws_access_key_id"], login["aws_secret_access_key"])
    write_atomic(folder / "identities.json", text)
    weed = str(layout.control_bin / "weed")
    options = server_options(folder, port, certificate, key, layout.listen)
    return Program(
        name=NAME,
        command=(weed, f"-config_dir={folder}", "-logtostderr=true", "server", *options),
        directory=folder,
        log=layout.logs / f"{NAME}.log",
        priority=10,
        environment={"GOMEMLIMIT": "300MiB"},
        port=port,
        # Its parts wait for each other's streams for half a minute; it outlives a kill.
        stop_wait_s=10,
        outside=sockets_outside(port),
    )


def ensure_trust_store(bucket: Bucket) -> None:
    """Whom the CA file names, as Java reads it. It holds no secret, so it needs no password."""
    if bucket.ca_file and bucket.trust_store:
        trusted = x509.load_pem_x509_certificates(bucket.ca_file.read_bytes())
        entries = [
            pkcs12.PKCS12Certificate(one, b"ca%d" % number) for number, one in enumerate(trusted)
        ]
        make_private(bucket.trust_store.parent)
        _write_bytes(bucket.trust_store, pkcs12.serialize_java_truststore(entries, NoEncryption()))


def _write_bytes(file: Path, content: bytes) -> None:
    draft = file.with_suffix(".new")
    draft.write_bytes(content)
    draft.replace(file)


def is_open(bucket: Bucket) -> bool:
    """Whether the local store answers and has its bucket; made when it has not."""
    try:
        with errors_named(bucket):
            _ensure_bucket(bucket)
    except StoreUnreachableError:
        return False
    return True


def check_bucket(bucket: Bucket) -> None:
    """That it is there, may be written, and refuses a second put of what has to be new."""
    probes = BucketObjects.at(f"{bucket.uri}/probes", bucket)
    name = uuid.uuid4().hex
    try:
        probes.put_new(name, "first")
        if probes.put_new(name, "second"):
            raise UnsafeStoreError(bucket)
    finally:
        probes.delete([name])


def _ensure_bucket(bucket: Bucket) -> None:
    try:
        client(bucket).head_bucket(Bucket=bucket.name)
    except ClientError as error:
        if not is_absent(error):
            raise
        client(bucket).create_bucket(Bucket=bucket.name)


def _ensure_login(bucket: Bucket) -> dict[str, str]:
    file = bucket.credentials_file
    if file is None:
        raise ValueError("the local store's bucket names its credentials file")
    make_private(file.parent)
    if not file.exists():
        write_new(
            file,
            f"[default]\naws_access_key_id = {secrets.token_hex(10)}\n"
            f"aws_secret_access_key = {secrets.token_urlsafe(30)}\n",
        )
    return read_login(bucket)
