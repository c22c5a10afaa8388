"""The Spark cluster on this machine: its secret, its files, its processes."""

from __future__ import annotations

import secrets
import socket
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    load_pem_private_key,
    pkcs12,
)

from millrace.base.addresses import LOCAL_NAMES, LOOPBACK
from millrace.kafka.core.kafka_client import as_properties
from millrace.processes.core.program import Program
from millrace.secrets.io.pki import ensure_server_certificate
from millrace.settings.core.paths import Paths
from millrace.settings.core.spark_cluster import (
    KEY_STORE_PASSWORD,
    MASTER,
    WORKERS,
    Cluster,
    daemon_properties,
    job_properties,
    master_command,
    worker_command,
    worker_ports,
)
from millrace.storage.io.files import make_private, write_atomic
from millrace.storage.io.properties import read_properties

_DAEMON = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")


def prepare_cluster(layout: Paths, cluster: Cluster) -> list[Program]:
    """Everything up to the start of the processes. The secret is new each time.

    Where each has a machine of its own it stays: some of them run already. The certificate of
    their pages is as new as it must be all the same.
    """
    folder = layout.cluster_folder
    make_private(folder)
    properties = folder / "daemons.conf"
    if cluster.apart and properties.exists() and cluster.secret_file.exists():
        _write_key_store(layout, read_properties(properties)[KEY_STORE_PASSWORD])
    else:
        _make_secrets(layout, cluster, properties)
    java = ("java", *_DAEMON, "-cp", f"{_spark(layout)}/jars/*")
    master = master_command(java, cluster, properties)
    workers = [
        worker_command(java, cluster, properties, number, folder / name)
        for number, name in enumerate(WORKERS)
    ]
    ports = worker_ports(cluster)
    return [
        _program(name, command, layout, port)
        for name, command, port in zip(
            (MASTER, *WORKERS), (master, *workers), (cluster.port, *ports), strict=True
        )
    ]


def _make_secrets(layout: Paths, cluster: Cluster, properties: Path) -> None:
    secret, password = secrets.token_urlsafe(32), secrets.token_urlsafe(16)
    key_store = _write_key_store(layout, password)
    settings = daemon_properties(secret, secrets.token_urlsafe(48), key_store, password)
    write_atomic(properties, as_properties(settings) + "\n")
    make_private(cluster.secret_file.parent)
    write_atomic(cluster.secret_file, as_properties(job_properties(secret)) + "\n")


def is_ready(cluster: Cluster) -> bool:
    """Master and workers listen."""
    return all(_listens(port) for port in (cluster.port, *worker_ports(cluster)))


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _program(name: str, command: tuple[str, ...], layout: Paths, port: int) -> Program:
    return Program(
        name=name,
        command=command,
        directory=layout.cluster_folder,
        log=layout.logs / f"{name}.log",
        priority=10 if name == MASTER else 11,
        port=port,
        environment={
            "SPARK_HOME": str(_spark(layout)),
            **({} if layout.apart else {"SPARK_LOCAL_IP": LOOPBACK}),
            # What the scripts, which we go without, would find out.
            "SPARK_SCALA_VERSION": "2.13",
        },
    )


def _spark(layout: Paths) -> Path:
    """By its real path: executors find the archive of classes by that of their jars."""
    environment = layout.lake_python.parents[1].resolve()
    return environment / "lib" / "python3.11" / "site-packages" / "pyspark"


def _write_key_store(layout: Paths, password: str) -> Path:
    """The pages' certificate as Java reads it."""
    certificate, key = ensure_server_certificate(layout, "spark", LOCAL_NAMES)
    chain = x509.load_pem_x509_certificates(certificate.read_bytes())
    loaded = load_pem_private_key(key.read_bytes(), None)
    if not isinstance(loaded, ec.EllipticCurvePrivateKey):
        raise TypeError(f"{key} is none of our keys")
    store = layout.cluster_folder / "spark.p12"
    encrypted = BestAvailableEncryption(password.encode())
    content = pkcs12.serialize_key_and_certificates(
        b"spark", loaded, chain[0], chain[1:], encrypted
    )
    store.touch(0o600)
    store.write_bytes(content)
    return store
