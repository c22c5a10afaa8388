"""A real registry: who may do what, what it refuses, ids that stay, kills."""

from __future__ import annotations

import base64
import json
import shutil
import signal
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import psutil
import pytest
from click.testing import Result
from typer.testing import CliRunner

from millrace.cli import app
from millrace.platform.core.platform import Platform
from millrace.schemas.cli.known_schemas import load_schemas
from millrace.schemas.core.registry import (
    IncompatibleError,
    OutOfStepError,
    Registry,
    RegistryRefusedError,
    RegistryUnreachableError,
    User,
)
from millrace.schemas.io.avro import Schemas
from millrace.schemas.io.decode import decode
from millrace.schemas.io.local_registry import fill, is_open, open_client, prepare_registry
from millrace.schemas.io.registry_client import RegistryClient, publish
from millrace.schemas.io.schema_files import load_schema_files
from millrace.settings.core.paths import HOME_VARIABLE
from tests.callers import answers_of, by_https, enter, expected
from tests.integration.conftest import CHECKOUT
from tests.support import free_ports, start, wait_until

START_TIMEOUT_S = 60


def record(name: str, **fields: object) -> str:
    """A schema; a field's value is its default, None: it has none."""
    listed = [
        {"name": field, "type": "long"} | ({} if default is None else {"default": default})
        for field, default in fields.items()
    ]
    return json.dumps({"type": "record", "name": name, "fields": listed}, indent=2)


@dataclass
class RunningRegistry:
    """A registry with schemas of its own to keep."""

    layout: Platform
    registry: Registry
    process: subprocess.Popen[bytes] | None = None

    @classmethod
    def prepare(cls, home: Path) -> RunningRegistry:
        for part in (".jars", ".venv-jre"):
            (home / part).symlink_to(CHECKOUT / part)
        shutil.copytree(CHECKOUT / "schemas", home / "schemas")
        (home / "dags" / "pipelines").mkdir(parents=True)
        (home / "infra").mkdir()
        registry = Registry(port=free_ports(1))
        (home / "infra" / "local.yaml").write_text(f"registry_port: {registry.port}\n")
        (home / "var").mkdir()
        (home / "var" / "registry").write_text("on\n")
        return cls(Platform(home, registry=registry), registry)

    def start(self) -> None:
        self.process = start(prepare_registry(self.layout, self.registry))
        wait_until(self._is_open, START_TIMEOUT_S, "the registry answering")

    def _is_open(self) -> bool:
        assert self.process
        assert self.process.poll() is None, self.log
        return is_open(self.layout, self.registry)

    @property
    def log(self) -> str:
        return (self.layout.logs / "schema-registry.log").read_text()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        if self.process:
            self.process.send_signal(number)
            self.process.wait(30)
            self.process = None

    def client(self, user: User) -> RegistryClient:
        return open_client(self.layout, self.registry, user)

    def password(self, user: User) -> str:
        text = self.layout.user_secret("schema-registry", user).read_text()
        return next(line[9:] for line in text.splitlines() if line.startswith("password="))


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningRegistry]:
    registry = RunningRegistry.prepare(tmp_path_factory.mktemp("registry"))
    registry.start()
    fill(registry.layout, registry.registry)
    try:
        yield registry
    finally:
        registry.stop(signal.SIGKILL)


@pytest.fixture
def millrace(running: RunningRegistry, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.setenv(HOME_VARIABLE, str(running.layout.home))
    return lambda *words: CliRunner().invoke(app, ["schema", *map(str, words)])


def push(millrace, folder: Path, topic: str, schema: str) -> Result:
    file = folder / "pushed.avsc"
    file.write_text(schema)
    return millrace("push", topic, file)


def test_the_files_are_there_under_their_own_ids(running):
    client = running.client(User.READER)
    for file in load_schema_files(CHECKOUT / "schemas"):
        assert json.loads(client.find(file.id) or "") == json.loads(file.text)
    assert fill(running.layout, running.registry) == []


@pytest.mark.parametrize(
    "path",
    ["/", "/apis/ccompat/v7/subjects", "/apis/registry/v3/system/info", "/apis/registry/v3/admin"],
)
@pytest.mark.parametrize("login", [None, ("reader", "guessed"), ("sa", "sa")], ids=str)
def test_nobody_gets_in_without_a_password(running, path, login):
    context = ssl.create_default_context(cafile=str(running.layout.ca))
    answer = httpx.get(f"{running.registry.url}{path}", auth=login, verify=context)
    assert answer.status_code == 401


def test_a_certificate_is_no_login(running, tmp_path):
    word = base64.b64encode(f"reader:{running.password(User.READER)}".encode()).decode()
    path, login = "/apis/ccompat/v7/subjects", f"Authorization: Basic {word}"
    tell = by_https(running.layout.ca, running.registry.port, path, login)
    hall = enter(running.layout, "plant-a", tmp_path)
    assert answers_of(hall, tell) == expected("registry")


def test_it_has_one_door_on_this_machine_that_talks_tls_alone(running):
    listening = [
        connection.laddr
        for connection in psutil.Process(running.process.pid).net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert [address.port for address in listening] == [running.registry.port]
    assert listening[0].ip.removeprefix("::ffff:") == "127.0.0.1"
    with socket.create_connection(("127.0.0.1", running.registry.port), 10) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert not plain.recv(100).startswith(b"HTTP")


def test_no_password_is_in_settings_arguments_or_log(running):
    process = psutil.Process(running.process.pid)
    places = " ".join(
        [
            *process.cmdline(),
            str(process.environ()),
            running.log,
            (running.layout.registry_folder / "registry.properties").read_text(),
        ]
    )
    assert [user for user in User if running.password(user) in places] == []


@pytest.mark.parametrize(
    ("user", "does"),
    [
        (User.READER, lambda client: client.register("x-value", record("X", a=None))),
        (User.READER, RegistryClient.ensure_rule),
        (User.PUBLISHER, RegistryClient.ensure_rule),
    ],
    ids=["reader registers", "reader sets rules", "publisher sets rules"],
)
def test_each_user_may_do_its_work_and_no_more(running, user, does):
    with pytest.raises(RegistryRefusedError, match=f"refuses user '{user}'"):
        does(running.client(user))


def test_a_new_schema_gets_an_id_and_a_file_that_decodes(running, millrace, tmp_path):
    done = push(millrace, tmp_path, "humidity-data", record("Humidity", percent=None))
    assert done.exit_code == 0, done.exception
    schema = Schemas.load(running.layout.schemas).latest("humidity-data")
    assert f"id {schema.id}: " in done.stdout
    again = push(millrace, tmp_path, "humidity-data", record("Humidity", percent=None))
    assert again.stdout == done.stdout
    assert decode(schema.encode({"percent": 40}), load_schemas(running.layout)) == {"percent": 40}


def test_a_push_that_was_killed_halfway_is_pushed_again(running, millrace, tmp_path):
    """Registered, and no file written yet."""
    schema = record("Halfway", a=None)
    number = running.client(User.PUBLISHER).register("halfway-value", schema)
    assert f"id {number}: " in push(millrace, tmp_path, "halfway", schema).stdout
    assert (running.layout.schemas / f"{number}-halfway.avsc").read_text() == schema


def test_a_schema_that_cannot_read_all_older_ones_is_refused(running, millrace, tmp_path):
    """Also when it could read the newest."""
    versions = [record("Rule", a=None), record("Rule", a=None, b=7), record("Rule", b=None)]
    assert [push(millrace, tmp_path, "rule", one).exit_code for one in versions] == [0, 0, 1]
    before = sorted(running.layout.schemas.iterdir())
    refused = push(millrace, tmp_path, "rule", versions[2])
    assert isinstance(refused.exception, IncompatibleError)
    assert "give new fields a default" in str(refused.exception)
    assert sorted(running.layout.schemas.iterdir()) == before
    (tmp_path / "bad.avsc").write_text(versions[2])
    assert isinstance(millrace("check", "rule", tmp_path / "bad.avsc").exception, IncompatibleError)
    assert millrace("check", "unheard-of", tmp_path / "bad.avsc").exit_code == 0


def test_what_another_client_registered_is_decoded_listed_and_pulled(running, millrace):
    schema = record("Foreign", level=None)
    number = running.client(User.PUBLISHER).register("level-data-value", schema)
    framed = number.to_bytes(5, "big") + b"\x08"
    assert decode(framed, Schemas.load(running.layout.schemas)) != {"level": 4}
    assert decode(framed, load_schemas(running.layout)) == {"level": 4}
    row = next(one for one in json.loads(millrace("list", "--json").stdout) if one["id"] == number)
    assert (row["topic"], row["file"], row["in_registry"]) == ("level-data", None, True)
    assert "level-data" in millrace("pull").stdout
    assert decode(framed, Schemas.load(running.layout.schemas)) == {"level": 4}
    assert millrace("pull").stdout == "schemas/ has all schemas of the registry\n"


def test_killed_after_its_answer_it_has_what_it_answered(running):
    client = running.client(User.PUBLISHER)
    ids = [client.register(f"kill-{n}-value", record(f"Kill{n}", a=None)) for n in range(3)]
    running.stop(signal.SIGKILL)
    away = load_schemas(running.layout)
    shown = str(decode((10_000).to_bytes(5, "big"), away))
    assert "no answer from" in shown
    running.start()
    assert [client.register(f"kill-{n}-value", record(f"Kill{n}", a=None)) for n in range(3)] == ids
    assert fill(running.layout, running.registry) == []


def test_ids_that_no_file_has_are_passed_over(running, tmp_path):
    client, free = running.client(User.PUBLISHER), _next_id(running)
    (tmp_path / f"{free + 2}-gap.avsc").write_text(record("Gap", a=None))
    assert publish(client, load_schema_files(tmp_path)) == [free + 2]
    assert publish(client, load_schema_files(tmp_path)) == []


def test_an_id_that_is_anothers_is_named_and_nothing_is_registered(running, tmp_path):
    free = _next_id(running)
    (tmp_path / "1-stolen.avsc").write_text(record("Stolen", a=None))
    with pytest.raises(OutOfStepError, match=r"1-stolen\.avsc: id 1 is another.*schema list"):
        publish(running.client(User.PUBLISHER), load_schema_files(tmp_path))
    assert _next_id(running) == free


def test_another_ca_is_no_registry(running, tmp_path):
    stranger = replace(running.layout, home=tmp_path)
    prepare_registry_files(stranger)
    other = RegistryClient(running.registry, stranger.ca, "reader", "x")
    with pytest.raises(RegistryUnreachableError, match="certificate verify failed"):
        other.subjects()


def prepare_registry_files(layout: Platform) -> None:
    for part in (".jars", ".venv-jre"):
        (layout.home / part).symlink_to(CHECKOUT / part)
    prepare_registry(layout, Registry(port=1))


def _next_id(running: RunningRegistry) -> int:
    client = running.client(User.READER)
    return next(number for number in range(1, 1000) if client.find(number) is None)
