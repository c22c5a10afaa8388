"""A gateway as a process of its own, with its file, and a device that speaks to it."""

from __future__ import annotations

import os
import re
import signal
import socket
import ssl
import subprocess
import tarfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Protocol

import httpx
import yaml

from millrace.base.addresses import LOCAL_NAMES
from millrace.gateway.bundle.core.bundle_contents import bundle_files
from millrace.gateway.bundle.io.pack_bundle import write_bundle
from millrace.platform.core.platform import Platform
from millrace.secrets.core.certificates import Role
from millrace.secrets.io.device_certificates import issue
from millrace.secrets.io.pki import ensure_certificate
from millrace.sites.core.user_names import GATEWAY
from tests.integration.conftest import CHECKOUT, RunningSite
from tests.support import free_ports, wait_until

START_S = 30
# An input for devices that are answered.
LINES = {
    "name": "lines",
    "kind": "tcp",
    "acknowledge": True,
    # Many devices, and one certificate for all of them.
    "names": "any",
    "key": {"field": "$.id"},
}
# A spool that is soon full, and what fills it: it can hardly be compressed.
SMALL = {"spool": {"size": "2 MB", "segment": "1 MB"}, "max_message": 100_000}
BIG = [
    b'{"id":"d%d","n":%d,"pad":"%s"}' % (n % 5, n, Random(n).randbytes(25_000).hex().encode())
    for n in range(100)
]


class NewGateway(Protocol):
    def __call__(self, *inputs: dict[str, Any], **extra: Any) -> RunningGateway: ...


def readings(first: int, count: int, devices: int = 5) -> list[bytes]:
    """As of so many devices in turn, each with its number among all."""
    return [
        b'{"id":"d%d","n":%d,"value":21.5}' % (number % devices, number)
        for number in range(first, first + count)
    ]


@dataclass
class RunningGateway:
    """Of one test: `inputs` as in a gateway's file, but for `listen` and `tls`."""

    site: RunningSite
    folder: Path
    inputs: list[dict[str, Any]]
    extra: dict[str, Any] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    _starts: int = 0
    environment: dict[str, str] = field(default_factory=dict)
    # How many open files its process may have; None: as many as ours.
    open_files: int | None = None

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.first_port = free_ports(len(self.inputs) + 1)
        layout, name = self.site.layout, self.site.spec.name
        file = layout.certificate(name, "gateway")
        certificate = ensure_certificate(layout, file, "gateway", Role.SERVER, LOCAL_NAMES)
        self.device = issue(layout, name, "device-1")
        tls = {"certificate": str(certificate), "clients": str(layout.devices_ca(name))}
        if status := self.extra.get("status"):
            status["listen"] = f"127.0.0.1:{self.first_port + len(self.inputs)}"
            status["certificate"] = str(certificate)
        for number, one in enumerate(self.inputs):
            if one["kind"] == "mqtt":
                continue
            one["listen"] = f"127.0.0.1:{self.first_port + number}"
            if not one.get("plain"):
                one["tls"] = {"certificate": str(certificate)} if one.get("tokens") else tls
        self.write()

    def write(self) -> None:
        password = self.site.password_of(GATEWAY)
        ca = self.site.layout.ca.read_text()
        for name, text in bundle_files(self.site.spec, ca, password).items():
            (self.folder / name).write_text(text)
        spec = {"site": self.site.spec.name, "data": "data", "inputs": self.inputs, **self.extra}
        (self.folder / "gateway.yaml").write_text(yaml.safe_dump(spec))

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    @property
    def port(self) -> int:
        return self.first_port

    def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            few = self.open_files
            limit = ["prlimit", f"--nofile={few}:{few}"] if few else []
            program = [str(CHECKOUT / ".venv/bin/millrace"), "gateway", "run"]
            self.process = subprocess.Popen(
                [*limit, *program, str(self.folder / "gateway.yaml")],
                env={**os.environ, **self.environment},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._starts += 1
        wait_until(self._listens, START_S, "the gateway listening")

    def _listens(self) -> bool:
        assert self.process
        assert self.process.poll() is None, f"the gateway ended:\n{self.log}"
        if self.inputs[0]["kind"] == "mqtt":
            return self.log.count("is ready") == self._starts
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        if self.process:
            self.process.send_signal(number)
            self.process.wait(30)
            self.process = None

    def http(self, token: str, port: int | None = None) -> httpx.Client:
        context = ssl.create_default_context(cafile=str(self.site.layout.ca))
        url = f"https://localhost:{port or self.port}"
        login = {"Authorization": f"Bearer {token}"}
        return httpx.Client(base_url=url, verify=context, headers=login, timeout=30)

    def device_at(self, port: int | None = None, name: str = "") -> Device:
        spec = self.inputs[(port or self.port) - self.first_port]
        address = ("127.0.0.1", port or self.port)
        if spec.get("plain"):
            return Device(socket.create_connection(address, 10), name)
        return Device.at(*address, self.site.layout.ca, self.device, name)


def unpacked_bundle(site: RunningSite, folder: Path) -> Path:
    """Of a checkout like ours, with the site's passwords and certificates."""
    home = folder / "home"
    home.mkdir()
    for part in ("src", "infra", "uv.lock", "schemas"):
        (home / part).symlink_to(CHECKOUT / part)
    (home / "var").symlink_to(site.layout.var)
    (home / "dags").mkdir()
    packed = write_bundle(Platform(home), site.spec)
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    return folder / f"{site.spec.name}-gateway"


class Device:
    """Sends lines by TLS, reads the answers, and goes on where it was after a cut."""

    def __init__(self, connected: socket.socket, name: str = "") -> None:
        self.socket = connected
        self._name = name

    @classmethod
    def at(cls, host: str, port: int, ca: Path, certificate: Path, name: str = "") -> Device:
        raw = socket.create_connection((host, port), 10)
        context = ssl.create_default_context(cafile=str(ca))
        context.load_cert_chain(certificate)
        return cls(context.wrap_socket(raw, server_hostname="localhost"), name)

    def greet(self) -> int:
        """How many of its messages are safe."""
        self.socket.sendall(f"HELLO {self._name}\n".encode())
        word = self.answers(1)[0]
        return int(re.fullmatch(r"OK (\d+)", word)[1])  # type: ignore[index]

    def send(self, messages: Sequence[bytes]) -> None:
        self.socket.sendall(b"".join(message + b"\n" for message in messages))

    def answers(self, count: int) -> list[str]:
        data = b""
        while data.count(b"\n") < count:
            more = self.socket.recv(1 << 16)
            if not more:
                raise ConnectionResetError(f"the gateway hung up after {data[-200:]!r}")
            data += more
        return data.decode().splitlines()

    def close(self) -> None:
        self.socket.close()


class Feeder(threading.Thread):
    """A device that numbers its messages and sends all of them, whatever happens to the gateway."""

    def __init__(self, gateway: RunningGateway, name: str, messages: Sequence[bytes]) -> None:
        super().__init__(daemon=True)
        self._gateway = gateway
        self._name = name
        self._messages = messages
        self.answered = 0
        self.reconnects = 0
        self.stopped = threading.Event()

    def run(self) -> None:
        while self.answered < len(self._messages) and not self.stopped.is_set():
            try:
                self._go_on()
            except OSError:
                self.reconnects += 1
                self.stopped.wait(0.05)

    def _go_on(self) -> None:
        device = self._gateway.device_at(name=self._name)
        try:
            self.answered = device.greet()
            while self.answered < len(self._messages) and not self.stopped.is_set():
                burst = self._messages[self.answered : self.answered + 200]
                device.send(burst)
                last = device.answers(len(burst))[-1]
                if last.startswith("REFUSED"):
                    raise ConnectionRefusedError(last)
                self.answered = int(last)
        finally:
            device.close()

    def finish(self, timeout_s: float) -> None:
        self.join(timeout_s)
        self.stopped.set()
        assert self.answered == len(self._messages), f"only {self.answered} answered"
