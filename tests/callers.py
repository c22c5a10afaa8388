"""Everybody who may come to a listener, by the certificate they show, and whom each lets in.

The table of docs/security.md says it; tests of each listener try all of its lines.
"""

from __future__ import annotations

import shutil
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from millrace.base.addresses import LOCAL_NAMES, LOOPBACK
from millrace.kafka.core.kafka_client import admin_settings
from millrace.platform.core.platform import Platform
from millrace.secrets.core import certificates
from millrace.secrets.core.certificates import Authority, Role
from millrace.secrets.io.device_certificates import issue, revoke, revoked_text
from millrace.secrets.io.pki import (
    ensure_authority,
    ensure_certificate,
    ensure_device_authority,
    ensure_parts_authority,
)
from millrace.sites.core.spec import SiteSpec
from millrace.storage.io.files import make_private, write_atomic

_PAGE = Path(__file__).resolve().parents[1] / "docs" / "security.md"
_HEAD = "| shows |"
# What a listener may answer: it serves, asks for a login too, grants no right, or ends the talk.
IN, LOGIN, NO_RIGHT, NO = "in", "login", "no right", "no"
ANSWERS = {IN, LOGIN, NO_RIGHT, NO}
PLAIN = "plain text"
ELSEWHERE = "plant-y"
_PATIENCE_S = 5


@dataclass(frozen=True)
class Hall:
    """Where the callers come from: an installation, one site of it, and a folder for their keys."""

    layout: Platform
    site: str
    folder: Path

    def leaf(self, name: str, role: Role, authority: Authority | None = None) -> Path:
        """A file of its own for each; hosts, so that no listener misses them."""
        number = len(list(self.folder.glob("*.pem")))
        file = self.folder / f"{number}-{name}.pem"
        return ensure_certificate(self.layout, file, name, role, LOCAL_NAMES, authority)

    @property
    def devices(self) -> Authority:
        return ensure_device_authority(self.layout, self.site)

    @property
    def other_devices(self) -> Authority:
        return ensure_device_authority(self.layout, ELSEWHERE)

    def stranger(self) -> Authority:
        """The root of another installation, which has the same name."""
        return ensure_authority(Platform(self.folder / "other"))

    def alone(self, name: str) -> Path:
        """Signed by itself."""
        key = certificates.new_key()
        made = certificates.make_authority(key, datetime.now(UTC), name)
        return self._write("alone", certificates.key_pem(key) + certificates.certificate_pem(made))

    def late(self, name: str, authority: Authority) -> Path:
        """It was good until yesterday."""
        key, then = certificates.new_key(), datetime.now(UTC) - timedelta(days=826)
        made = certificates.make_leaf(authority, key, name, then, Role.PEER, LOCAL_NAMES)
        return self._write("late", certificates.key_pem(key) + certificates.certificate_pem(made))

    def revoked(self) -> Path:
        """It was issued, stolen, and put into the list."""
        stolen = self.folder / "stolen.pem"
        shutil.copy(issue(self.layout, self.site, "lost"), stolen)
        revoke(self.layout, self.site, "lost")
        return stolen

    def _write(self, name: str, text: str) -> Path:
        file = self.folder / f"{name}-{len(list(self.folder.glob('*.pem')))}.pem"
        file.write_text(text)
        return file


def enter(layout: Platform, site: str, folder: Path) -> Hall:
    make_private(folder)
    if not layout.revoked(site).exists():
        make_private(layout.devices(site).parent, layout.devices(site))
        write_atomic(layout.revoked(site), revoked_text(layout, site))
    return Hall(layout, site, folder)


Made = Callable[[Hall], Path | None]
# By the words of the page. None: no certificate.
CALLERS: dict[str, Made] = {
    "no certificate": lambda _: None,
    "a certificate signed by itself": lambda hall: hall.alone(f"{hall.site}-admin"),
    "the same names, of another installation's root": lambda hall: hall.leaf(
        f"{hall.site}-admin", Role.PEER, hall.stranger()
    ),
    "an administrator's that ended yesterday": lambda hall: hall.late(
        f"{hall.site}-admin", ensure_authority(hall.layout)
    ),
    "a device's that ended yesterday": lambda hall: hall.late("press", hall.devices),
    "a device of the site": lambda hall: issue(hall.layout, hall.site, "press"),
    "a revoked device of the site": lambda hall: hall.revoked(),
    "a device of another site": lambda hall: hall.leaf("press", Role.CLIENT, hall.other_devices),
    "a device that is called as the administrator": lambda hall: hall.leaf(
        f"{hall.site}-admin", Role.CLIENT, hall.devices
    ),
    "a device that is called as a broker": lambda hall: hall.leaf(
        f"{hall.site}-broker", Role.CLIENT, hall.devices
    ),
    "a server's of the devices' authority": lambda hall: hall.leaf(
        "press", Role.SERVER, hall.devices
    ),
    "the site's gateway": lambda hall: hall.leaf(f"{hall.site}-gateway", Role.SERVER),
    "Airflow's server": lambda hall: hall.leaf("airflow", Role.SERVER),
    "the registry": lambda hall: hall.leaf("schema-registry", Role.SERVER),
    "the object store's S3": lambda hall: hall.leaf("object-store", Role.SERVER),
    "a server that is called as the administrator": lambda hall: hall.leaf(
        f"{hall.site}-admin", Role.SERVER
    ),
    "a client of the root that is called as a device": lambda hall: hall.leaf("press", Role.CLIENT),
    "a client of the root that is called as the store": lambda hall: hall.leaf(
        "object-store", Role.PEER
    ),
    "a part of the object store": lambda hall: hall.leaf(
        "object-store", Role.PEER, ensure_parts_authority(hall.layout)
    ),
    "a broker of the site": lambda hall: hall.leaf(f"{hall.site}-broker", Role.PEER),
    "a broker of another site": lambda hall: hall.leaf(f"{ELSEWHERE}-broker", Role.PEER),
    "the site's administrator": lambda hall: hall.leaf(f"{hall.site}-admin", Role.CLIENT),
    "another site's administrator": lambda hall: hall.leaf(f"{ELSEWHERE}-admin", Role.CLIENT),
}


def matrix() -> dict[str, dict[str, str]]:
    """Of the page: by listener, what it answers to each caller."""
    lines = iter(_PAGE.read_text().splitlines())
    head = next(line for line in lines if line.startswith(_HEAD))
    _, *listeners = _cells(head)
    next(lines)
    table: dict[str, dict[str, str]] = {listener: {} for listener in listeners}
    for line in lines:
        if not line.startswith("|"):
            return table
        caller, *answers = _cells(line)
        for listener, answer in zip(listeners, answers, strict=True):
            table[listener][caller] = answer
    return table


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def answers_of(hall: Hall, tell: Callable[[Path | None], str]) -> dict[str, str]:
    """What a listener answers to all who speak TLS. `tell`: to whom shows this."""
    return {caller: tell(made(hall)) for caller, made in CALLERS.items()}


def expected(listener: str) -> dict[str, str]:
    """What the page says of all who speak TLS."""
    return {caller: answer for caller, answer in matrix()[listener].items() if caller != PLAIN}


def connected(ca: Path, port: int, certificate: Path | None) -> ssl.SSLSocket:
    context = ssl.create_default_context(cafile=str(ca))
    if certificate:
        context.load_cert_chain(certificate)
    raw = socket.create_connection((LOOPBACK, port), 10)
    return context.wrap_socket(raw, server_hostname=LOOPBACK)


def status_by_https(ca: Path, port: int, certificate: Path | None, path: str, login: str) -> int:
    """Of an answer; 0: the talk was ended. `login`: a line of the request's head, or none."""
    try:
        with connected(ca, port, certificate) as tls:
            lines = [f"GET {path} HTTP/1.1", "Host: localhost", "Connection: close", login]
            tls.sendall(("\r\n".join(filter(None, lines)) + "\r\n\r\n").encode())
            said = tls.recv(64)
    except OSError:
        return 0
    return int(said.split()[1]) if said.startswith(b"HTTP/1") else 0


def by_https(ca: Path, port: int, path: str, login: str) -> Callable[[Path | None], str]:
    """Whether a page is shown to whom shows that, with a right login and without."""

    def tell(certificate: Path | None) -> str:
        without = status_by_https(ca, port, certificate, path, "")
        if without == 0:
            return NO
        if without == 200:
            return IN
        return LOGIN if status_by_https(ca, port, certificate, path, login) == 200 else NO_RIGHT

    return tell


def administers(site: SiteSpec, ca: Path, certificate: Path) -> bool:
    """Whether a broker serves whom shows that certificate and trusts that authority."""
    admin = AdminClient(admin_settings(site, ca, certificate))
    try:
        admin.describe_cluster(request_timeout=_PATIENCE_S).result(_PATIENCE_S + 1)
    except KafkaException:
        return False
    return True


def is_served_in_plain_text(port: int, question: bytes, answer: bytes) -> bool:
    with socket.create_connection((LOOPBACK, port), 10) as plain:
        plain.settimeout(10)
        try:
            plain.sendall(question)
            return plain.recv(64).startswith(answer)
        except ConnectionError:
            return False


HTTP = (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"HTTP/1.1 200")
