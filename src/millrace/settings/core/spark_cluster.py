"""A Spark cluster on this machine: a master and two workers, and what each is told."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from millrace.base.addresses import LOOPBACK
from millrace.base.model import Frozen

MASTER, WORKERS = "spark-master", ("spark-worker-1", "spark-worker-2")
# For the master and each worker: its own, one that does nothing but send to its page, its page's.
_PORTS = 3
PORTS_NEEDED = _PORTS * (1 + len(WORKERS))
KEY_STORE_PASSWORD = "spark.ssl.standalone.keyStorePassword"  # noqa: S105 - a setting's name
_CORES = 1
# Executors that find room on a worker: jobs keep theirs, and tasks want some meanwhile. Numbers to
# share by; the machine's cores and memory serve all of them.
_ROOM = 8
_ROOM_MEMORY = "8g"


class Cluster(Frozen):
    """Where the master is, and the file (0600) with the secret that all its parts share."""

    port: int
    secret_file: Path
    # A job that gets no executor for so long ends, and says so.
    executor_within_s: int = 45
    # Whether master, workers and jobs have a machine each, with the program's name.
    apart: bool = False

    @property
    def url(self) -> str:
        return f"spark://{self.host(MASTER)}:{self.port}"

    def host(self, program: str) -> str:
        return program if self.apart else LOOPBACK


def cluster_settings(cluster: Cluster) -> dict[str, str]:
    """What a job is told beside its own settings; the secret is not among them."""
    return {
        "spark.master": cluster.url,
        "spark.cores.max": str(_CORES * len(WORKERS)),
        "spark.executor.cores": str(_CORES),
        # Of a worker that died; the rest goes on meanwhile.
        "spark.network.timeout": "30s",
        "spark.network.timeoutInterval": "10s",
        "spark.executor.heartbeatInterval": "5s",
    }


def daemon_properties(secret: str, page_key: str, key_store: Path, password: str) -> dict[str, str]:
    """The file that master, workers and jobs are pointed at.

    The daemons insist on a page each. It is encrypted, and asks for a token that nobody has.
    """
    page = "spark.org.apache.spark.ui.JWSFilter.param.secretKey"
    return {
        "spark.authenticate": "true",
        "spark.authenticate.secret": secret,
        "spark.network.crypto.enabled": "true",
        "spark.master.rest.enabled": "false",
        # An executor lives as long as its job. Workers remove what ended a week ago by themselves.
        "spark.executor.logs.rolling.strategy": "size",
        "spark.executor.logs.rolling.maxSize": "5000000",
        "spark.executor.logs.rolling.maxRetainedFiles": "3",
        "spark.ui.filters": "org.apache.spark.ui.JWSFilter",
        page: page_key,
        "spark.ssl.standalone.enabled": "true",
        "spark.ssl.standalone.keyStore": str(key_store),
        "spark.ssl.standalone.keyStoreType": "PKCS12",
        KEY_STORE_PASSWORD: password,
        "spark.ssl.standalone.protocol": "TLSv1.3",
    }


def job_properties(secret: str) -> dict[str, str]:
    return {"spark.authenticate.secret": secret}


def master_command(java: Sequence[str], cluster: Cluster, properties: Path) -> tuple[str, ...]:
    return (
        *java,
        _page_at(cluster.port),
        "org.apache.spark.deploy.master.Master",
        *("--host", cluster.host(MASTER), "--port", str(cluster.port)),
        *("--webui-port", str(cluster.port + 1), "--properties-file", str(properties)),
    )


def worker_ports(cluster: Cluster) -> tuple[int, ...]:
    return tuple(cluster.port + _PORTS * number for number in range(1, 1 + len(WORKERS)))


def page_ports(cluster: Cluster) -> tuple[int, ...]:
    """Where master and workers show their pages, by TLS."""
    return tuple(port + 2 for port in (cluster.port, *worker_ports(cluster)))


def _page_at(port: int) -> str:
    """Or Spark takes one 400 above, which nobody has kept free."""
    return f"-Dspark.ssl.standalone.port={port + 2}"


def worker_command(
    java: Sequence[str], cluster: Cluster, properties: Path, number: int, folder: Path
) -> tuple[str, ...]:
    port = worker_ports(cluster)[number]
    return (
        *java,
        _page_at(port),
        "org.apache.spark.deploy.worker.Worker",
        *("--host", cluster.host(WORKERS[number]), "--port", str(port)),
        *("--webui-port", str(port + 1)),
        *("--cores", str(_CORES * _ROOM), "--memory", _ROOM_MEMORY, "--work-dir", str(folder)),
        *("--properties-file", str(properties)),
        cluster.url,
    )
