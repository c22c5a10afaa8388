"""Whom each listener of a broker lets in, by real handshakes and a request of a master."""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.callers import (
    IN,
    LOGIN,
    NO,
    NO_RIGHT,
    Hall,
    answers_of,
    connected,
    enter,
    expected,
)
from tests.integration.conftest import RunningSite


def framed(key: int, version: int, rest: bytes) -> bytes:
    """A request of nobody's name, with the number 7."""
    request = struct.pack(">hhih", key, version, 7, -1) + rest
    return struct.pack(">i", len(request)) + request


NUMBER = struct.pack(">i", 7)
# The one request that needs no login: what is spoken here.
VERSIONS = framed(18, 0, b"")
METADATA = framed(3, 0, struct.pack(">i", 0))
# How the controllers stand, which is told to whom may describe the cluster.
_NAME = b"__cluster_metadata"
QUORUM = framed(
    55, 0, b"\0\2" + bytes([len(_NAME) + 1]) + _NAME + b"\2" + struct.pack(">i", 0) + b"\0\0\0"
)
NOT_ALLOWED = 31


@pytest.fixture(scope="module")
def hall(site: RunningSite, tmp_path_factory: pytest.TempPathFactory) -> Hall:
    return enter(site.layout, site.spec.name, tmp_path_factory.mktemp("callers"))


def as_master(site: RunningSite, port: int) -> Callable[[Path | None], str]:
    def tell(certificate: Path | None) -> str:
        answer = asked(site, port, certificate, QUORUM)
        if not answer.startswith(NUMBER):
            return NO
        (error,) = struct.unpack(">h", answer[5:7])
        assert error in (0, NOT_ALLOWED), error
        return NO_RIGHT if error else IN

    return tell


def as_user(site: RunningSite) -> Callable[[Path | None], str]:
    """By TLS 1.3 a client hears only by an answer whether its certificate was taken."""

    def tell(certificate: Path | None) -> str:
        if not asked(site, site.spec.port, certificate, VERSIONS):
            return NO
        return IN if asked(site, site.spec.port, certificate, METADATA) else LOGIN

    return tell


def asked(site: RunningSite, port: int, certificate: Path | None, request: bytes) -> bytes:
    """An answer without its length; empty: the talk was ended."""
    try:
        with connected(site.layout.ca, port, certificate) as tls:
            tls.sendall(request)
            return tls.recv(64)[4:]
    except (ssl.SSLError, ConnectionError):
        return b""


@pytest.mark.parametrize("port", ["admin_port", "controller_port"])
def test_listeners_for_masters_serve_who_has_a_certificate_with_that_right(
    site: RunningSite, hall: Hall, port: str
) -> None:
    tell = as_master(site, getattr(site.spec, port))
    assert answers_of(hall, tell) == expected("broker, masters")


def test_a_certificate_is_no_login_where_passwords_are_asked_for(
    site: RunningSite, hall: Hall
) -> None:
    assert answers_of(hall, as_user(site)) == expected("broker, users")


@pytest.mark.parametrize("port", ["port", "admin_port", "controller_port"])
def test_no_listener_talks_in_plain_text(site: RunningSite, port: str) -> None:
    with socket.create_connection(("127.0.0.1", getattr(site.spec, port)), 10) as plain:
        plain.settimeout(10)
        plain.sendall(VERSIONS)
        assert not plain.recv(64)[4:].startswith(NUMBER)
