"""Who is let in by what listens in a whole stack, and that nothing else listens."""

from __future__ import annotations

import socket
import stat
import struct
from base64 import urlsafe_b64decode
from contextlib import suppress
from pathlib import Path
from typing import Any

import jwt
import psutil
import psycopg2
import pytest

from millrace.base.addresses import LOOPBACK
from millrace.platform.core.platform import Platform
from millrace.settings.core.spark_cluster import PORTS_NEEDED as CLUSTER_PORTS
from millrace.settings.core.spark_cluster import page_ports, worker_ports
from millrace.storage.core.store_server import PORTS_NEEDED as STORE_PORTS
from millrace.storage.io.properties import read_properties
from tests.callers import (
    HTTP,
    Hall,
    answers_of,
    by_https,
    enter,
    expected,
    is_served_in_plain_text,
)
from tests.e2e.stack import SITES, Stack

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def layout(moved: Stack) -> Platform:
    return Platform(moved.home)


@pytest.fixture(scope="module")
def hall(layout: Platform, tmp_path_factory: pytest.TempPathFactory) -> Hall:
    return enter(layout, SITES[0], tmp_path_factory.mktemp("callers"))


def sockets(stack: Stack, kind: str) -> list[tuple[psutil.Process, Any]]:
    """Of all that runs; a process that ends meanwhile has none."""
    found: list[tuple[psutil.Process, Any]] = []
    for process in stack.processes():
        with suppress(psutil.NoSuchProcess):
            found += [(process, one) for one in process.net_connections(kind)]
    return found


def listening(stack: Stack) -> list[tuple[psutil.Process, str, int]]:
    return [
        (process, one.laddr.ip.removeprefix("::ffff:"), one.laddr.port)
        for process, one in sockets(stack, "tcp")
        if one.status == psutil.CONN_LISTEN
    ]


def test_airflow_asks_everybody_for_a_login(moved: Stack, layout: Platform, hall: Hall) -> None:
    login = str(moved.airflow().client.headers["Authorization"])
    port = moved.ports()["airflow-api-server"]
    tell = by_https(layout.ca, port, "/api/v2/dags", f"Authorization: {login}")
    assert answers_of(hall, tell) == expected("Airflow")
    assert not is_served_in_plain_text(port, *HTTP)


def test_sparks_pages_ask_everybody_for_a_token(moved: Stack, layout: Platform, hall: Hall) -> None:
    settings = read_properties(layout.cluster_folder / "daemons.conf")
    key = urlsafe_b64decode(settings["spark.org.apache.spark.ui.JWSFilter.param.secretKey"])
    login = f"Authorization: Bearer {jwt.encode({'sub': 'test'}, key, 'HS384')}"
    for page in page_ports(moved.cluster()):
        answers = answers_of(hall, by_https(layout.ca, page, "/", login))
        assert answers == expected("Spark's pages"), page
        for port in (page, page - 1):
            assert not is_served_in_plain_text(port, *HTTP), port


# As Spark's parts talk: a request's kind, its number, the length of what is asked, and that.
_REQUEST = 3
_ASKED = b"\0" * 16
RPC = struct.pack(">qbqi", 21 + len(_ASKED), _REQUEST, 7, len(_ASKED)) + _ASKED
WITHOUT_SECRET = b"IllegalStateException: Expected SaslMessage"
# As a driver's Python and Java talk: call this of that; what was done is answered so.
PY4J, DONE = b"c\nt\ntoString\ne\n", b"!y"
WITHOUT_TOKEN = b"Authentication error"


def test_no_part_of_spark_answers_who_does_not_know_the_secret(moved: Stack) -> None:
    cluster = moved.cluster()
    pages = {port - number for port in page_ports(cluster) for number in range(2)}
    found = {port for process, _, port in listening(moved) if is_of_spark(process)} - pages
    answers = {port: said_to(port, RPC) for port in found}
    guarded = {port for port, words in answers.items() if WITHOUT_SECRET in words}
    daemons = {cluster.port, *worker_ports(cluster)}
    assert daemons < guarded, "a driver and executors too"
    assert {answers[port] for port in found - guarded} == {b""}
    to_java = [said_to(port, PY4J) for port in found - guarded]
    assert [words for words in to_java if WITHOUT_TOKEN in words]
    assert not [words for words in to_java if words.startswith(DONE)]


def said_to(port: int, question: bytes) -> bytes:
    """Silence, and a talk that is ended, are empty."""
    with socket.create_connection((LOOPBACK, port), 10) as plain:
        plain.settimeout(1)
        try:
            plain.sendall(question)
            return plain.recv(1 << 12)
        except (ConnectionError, TimeoutError):
            return b""


def is_of_spark(process: psutil.Process) -> bool:
    words = process.cmdline()
    return any("org.apache.spark" in word or "spark_jobs" in word for word in words) or (
        "pyspark" in " ".join(words)
    )


def test_postgres_asks_for_a_password_at_a_socket_that_its_owner_alone_reaches(
    moved: Stack, layout: Platform
) -> None:
    login = layout.postgres_password.read_text().strip().rsplit(":", 2)
    place = {"host": str(layout.postgres_socket), "dbname": "airflow", "user": login[1]}
    assert stat.S_IMODE(layout.run.stat().st_mode) == 0o700
    for password in ("", "guessed", layout.airflow_password.read_text().strip()):
        with pytest.raises(psycopg2.OperationalError, match="password"):
            psycopg2.connect(**place, password=password, passfile="/dev/null")
    psycopg2.connect(**place, password=login[2]).close()
    assert not [process for process, _, _ in listening(moved) if "postgres" in process.name()]


# Of a broker: users', masters', controllers'. Of a gateway of this machine: devices', its page.
LISTENERS = {"kafka": 3, "gateway": 2}


def test_nothing_listens_but_what_the_page_names_and_nothing_off_this_machine(
    moved: Stack,
) -> None:
    ports = moved.ports()
    named = {ports["airflow-api-server"], ports["schema-registry"]}
    for program, first in ports.items():
        count = LISTENERS.get(program.split("-")[0], 0)
        named |= set(range(first, first + count))
    named |= set(range(ports["object-store"], ports["object-store"] + STORE_PORTS))
    named |= set(range(ports["spark-master"], ports["spark-master"] + CLUSTER_PORTS))
    found = listening(moved)
    assert {ip for _, ip, _ in found} <= {LOOPBACK, "::1"}
    assert named <= {port for _, _, port in found}
    others = {process for process, _, port in found if port not in named}
    assert not [process.cmdline() for process in others if not is_of_spark(process)]


def test_a_socket_that_is_a_file_is_its_owners_alone(moved: Stack) -> None:
    names = {one.laddr for _, one in sockets(moved, "unix")}
    files = {Path(name) for name in names if name.startswith("/")}
    there = {file for file in files if file.is_socket()}
    assert len(there) >= 3, "Postgres', the store's"
    assert not [file for file in there if not is_private(file)]


def is_private(file: Path) -> bool:
    """By its own rights, or by those of a folder on the way to it."""
    return any(not one.stat().st_mode & 0o077 for one in (file, *file.parents))
