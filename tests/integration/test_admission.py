"""Which certificate of which role each listener of a broker lets in, by real handshakes."""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from millrace.core.addresses import LOCAL_NAMES
from millrace.core.layout import Layout
from millrace.local.certificates import Role
from millrace.local.devices import issue
from millrace.local.pki import ensure_certificate, ensure_device_authority
from tests.integration.conftest import RunningSite

SITE = "plant-t"
# ApiVersions, the one request that needs no login: size, key, version, number, no client's name.
ASK = struct.pack(">ihhih", 10, 18, 0, 7, -1)


def leaf(layout: Layout, name: str, role: Role) -> Path:
    return ensure_certificate(layout, layout.certificate("roles", name), name, role, LOCAL_NAMES)


def device_named(layout: Layout, name: str) -> Path:
    """A device that is called as the cluster's masters are."""
    file, signer = layout.home / f"device-{name}.pem", ensure_device_authority(layout, SITE)
    return ensure_certificate(layout, file, name, Role.CLIENT, authority=signer)


Made = Callable[[Layout], Path | None]
# Who shows which certificate, and whether a handshake with it succeeds where one is asked for.
CALLERS: dict[str, tuple[Made, bool]] = {
    "a broker of the site": (lambda layout: layout.broker_certificate(SITE), True),
    "the site's administrator": (lambda layout: layout.certificate(SITE, "admin"), True),
    # It has no right there: see test_refusals.
    "another site's administrator": (lambda one: leaf(one, "plant-y-admin", Role.CLIENT), True),
    "the site's gateway": (lambda layout: leaf(layout, f"{SITE}-gateway", Role.SERVER), False),
    "a server named as the administrator": (
        lambda layout: leaf(layout, f"{SITE}-admin", Role.SERVER),
        False,
    ),
    "a device of the site": (lambda layout: issue(layout, SITE, "press"), False),
    "a device named as the administrator": (
        lambda layout: device_named(layout, f"{SITE}-admin"),
        False,
    ),
    "a device named as a broker": (lambda layout: device_named(layout, f"{SITE}-broker"), False),
    "nobody": (lambda _: None, False),
}


@pytest.mark.parametrize(("made", "expected"), CALLERS.values(), ids=CALLERS.keys())
def test_listeners_for_certificates_let_in_who_has_one_of_the_right_role(
    site: RunningSite, made: Made, *, expected: bool
) -> None:
    certificate = made(site.layout)
    for port in (site.spec.admin_port, site.spec.controller_port):
        assert is_answered(site, port, certificate) is expected, port


def test_a_certificate_is_no_login_where_passwords_are_asked_for(site: RunningSite) -> None:
    """The handshake needs none, and what one says counts for nothing."""
    admin = site.layout.certificate(SITE, "admin")
    assert is_answered(site, site.spec.port, None)
    assert is_answered(site, site.spec.port, admin)
    # Metadata, which needs a login.
    with connected(site, site.spec.port, admin) as tls:
        tls.sendall(struct.pack(">ihhihi", 14, 3, 0, 8, -1, 0))
        assert tls.recv(64) == b""


@pytest.mark.parametrize("port", ["port", "admin_port", "controller_port"])
def test_no_listener_talks_in_plain_text(site: RunningSite, port: str) -> None:
    with socket.create_connection(("127.0.0.1", getattr(site.spec, port)), 10) as plain:
        plain.settimeout(10)
        plain.sendall(ASK)
        assert not plain.recv(64).endswith(struct.pack(">i", 7))


def connected(site: RunningSite, port: int, certificate: Path | None) -> ssl.SSLSocket:
    context = ssl.create_default_context(cafile=str(site.layout.ca))
    if certificate:
        context.load_cert_chain(certificate)
    raw = socket.create_connection(("127.0.0.1", port), 10)
    return context.wrap_socket(raw, server_hostname="127.0.0.1")


def is_answered(site: RunningSite, port: int, certificate: Path | None) -> bool:
    """By TLS 1.3 a client hears only then whether its certificate was taken."""
    try:
        with connected(site, port, certificate) as tls:
            tls.sendall(ASK)
            return tls.recv(8)[4:] == struct.pack(">i", 7)
    except OSError:
        return False
