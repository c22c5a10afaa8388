"""Who a gateway lets in: real handshakes with a real certificate of every role."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from millrace.base.addresses import LOCAL_NAMES
from millrace.base.errors import MillraceError
from millrace.gateway.inputs.core.contested import Contested
from millrace.gateway.inputs.io.http_server import HttpServer
from millrace.gateway.inputs.io.listener import Handles
from millrace.gateway.inputs.io.tcp_server import TcpServer
from millrace.gateway.spec.core.gateway_file import StatusSpec
from millrace.gateway.spec.core.input_specs import HttpInput, TcpInput, Tls
from millrace.gateway.spec.io.gateway_settings import ServerTls
from millrace.gateway.status.io.status_server import StatusServer
from millrace.platform.core.platform import Platform
from millrace.secrets.core.certificates import Role, common_name, read_certificate
from millrace.secrets.io.device_certificates import issue, list_devices, revoke, revoked_text
from millrace.secrets.io.pki import ensure_authority, ensure_certificate
from millrace.storage.io.files import write_atomic
from tests.callers import (
    ANSWERS,
    CALLERS,
    HTTP,
    IN,
    NO,
    NO_RIGHT,
    PLAIN,
    Hall,
    answers_of,
    by_https,
    enter,
    expected,
    is_served_in_plain_text,
    matrix,
)
from tests.support import free_ports

HERE, ELSEWHERE = "plant-a", "plant-b"
HELLO = b"HELLO press\n"


@pytest.fixture
def layout(tmp_path: Path) -> Platform:
    layout = Platform(tmp_path)
    ensure_authority(layout)
    issue(layout, HERE, "press")
    write_atomic(layout.revoked(HERE), revoked_text(layout, HERE))
    server = layout.certificate(HERE, "gateway")
    ensure_certificate(layout, server, f"{HERE}-gateway", Role.SERVER, LOCAL_NAMES)
    return layout


@pytest.fixture
def hall(layout: Platform, tmp_path: Path) -> Hall:
    return enter(layout, HERE, tmp_path / "callers")


def tls_of(layout: Platform) -> Tls:
    return Tls(
        certificate=layout.certificate(HERE, "gateway"),
        clients=layout.devices_ca(HERE),
        revoked=layout.revoked(HERE),
    )


class Intake:
    """Takes everything, as a gateway with an empty spool would."""

    is_crowded = False
    malformed = 0

    def __init__(self) -> None:
        self.taken: list[bytes] = []
        self.contested = Contested()

    def last_of(self, _origin: bytes) -> int:
        return 0

    def take(self, messages: list[bytes], *_: object) -> int:
        self.taken += messages
        return 0


@asynccontextmanager
async def listening(layout: Platform) -> AsyncIterator[tuple[TcpServer, Intake, int]]:
    port, intake = free_ports(1), Intake()
    spec = TcpInput(
        name="lines",
        kind="tcp",
        topic="t",
        acknowledge=True,
        listen=f"127.0.0.1:{port}",
        tls=tls_of(layout),
    )
    anything: Any = intake
    server = TcpServer(spec, anything, Handles(1))
    await server.start()
    try:
        yield server, intake, port
    finally:
        await server.stop_listening()
        await server.end()


async def connect(
    layout: Platform, port: int, certificate: Path | None, *, newest: bool = True
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    context = ssl.create_default_context(cafile=str(layout.ca))
    if not newest:
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    if certificate:
        context.load_cert_chain(certificate)
    return await asyncio.open_connection("127.0.0.1", port, ssl=context)


def name_in(certificate: Path | None) -> str:
    return common_name(read_certificate(certificate.read_text())) if certificate else "x"


async def is_let_in(layout: Platform, port: int, certificate: Path | None, **how: bool) -> bool:
    """As a device finds out: whether it is answered."""
    try:
        reader, writer = await connect(layout, port, certificate, **how)
        writer.write(f"HELLO {name_in(certificate)}\n".encode())
        answer = await asyncio.wait_for(reader.readline(), 10)
        writer.transport.abort()
    except OSError:
        return False
    return answer == b"OK 0\n"


@pytest.mark.parametrize("newest", [True, False], ids=["TLS 1.3", "TLS 1.2"])
def test_a_gateway_lets_in_its_own_sites_devices_alone(layout, hall, newest):
    shown = {caller: make(hall) for caller, make in CALLERS.items()}

    async def ask() -> tuple[dict[str, str], list[bytes]]:
        async with listening(layout) as (_, intake, port):
            answers = {
                caller: IN if await is_let_in(layout, port, one, newest=newest) else NO
                for caller, one in shown.items()
            }
            assert not await asyncio.to_thread(is_served_in_plain_text, port, HELLO, b"OK")
            return answers, intake.taken

    assert asyncio.run(ask()) == (expected("gateway, TCP"), [])


def test_a_client_refuses_a_server_of_another_role_or_place(layout):
    async def ask(certificate: Path) -> bool:
        tls = ServerTls(Tls(certificate=certificate))
        server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0, ssl=tls.context)
        port = server.sockets[0].getsockname()[1]
        try:
            _, writer = await connect(layout, port, None)
            writer.transport.abort()
        except ssl.SSLError:
            return False
        finally:
            server.close()
        return True

    elsewhere = layout.certificate("x", "elsewhere")
    ensure_certificate(layout, elsewhere, "plant-a-gateway", Role.SERVER, ["10.0.0.9"])
    assert asyncio.run(ask(layout.certificate(HERE, "gateway")))
    admin = ensure_certificate(layout, layout.certificate("x", "y"), "plant-a-admin", Role.CLIENT)
    assert not asyncio.run(ask(admin))
    assert not asyncio.run(ask(issue(layout, HERE, "press")))
    assert not asyncio.run(ask(elsewhere))


@asynccontextmanager
async def serving(layout: Platform) -> AsyncIterator[tuple[HttpServer, int]]:
    port, anything = free_ports(1), cast(Any, Intake())
    spec = HttpInput(
        name="web", kind="http", topic="t", listen=f"127.0.0.1:{port}", tls=tls_of(layout)
    )
    server = HttpServer(spec, anything, Handles(1))
    await server.start()
    try:
        yield server, port
    finally:
        await server.stop_listening()
        await server.end()


async def status_of(layout: Platform, port: int, certificate: Path | None) -> int:
    """Of an answer by HTTPS; 0: none came."""
    try:
        reader, writer = await connect(layout, port, certificate)
        writer.write(b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n")
        line = await asyncio.wait_for(reader.readline(), 10)
        writer.transport.abort()
    except OSError:
        return 0
    return int(line.split()[1]) if line else 0


def test_by_https_it_lets_in_the_same(layout, hall):
    shown = {caller: make(hall) for caller, make in CALLERS.items()}
    words = {404: IN, 403: NO_RIGHT, 0: NO}

    async def ask() -> dict[str, str]:
        async with serving(layout) as (_, port):
            assert not await asyncio.to_thread(is_served_in_plain_text, port, *HTTP)
            return {
                caller: words[await status_of(layout, port, one)] for caller, one in shown.items()
            }

    assert asyncio.run(ask()) == expected("gateway, HTTPS")


def test_its_page_asks_everybody_for_a_token(layout, hall):
    token = layout.home / "token"
    write_atomic(token, "a-token-of-a-page\n")
    spec = StatusSpec(
        listen=f"127.0.0.1:{free_ports(1)}",
        certificate=layout.certificate(HERE, "gateway"),
        token=token,
    )
    login = "Authorization: Bearer a-token-of-a-page"
    tell = by_https(layout.ca, spec.host_port[1], "/health", login)

    async def ask() -> dict[str, str]:
        server = StatusServer(spec, cast(Any, lambda: SimpleNamespace(inputs=[])), Handles(1))
        await server.start()
        try:
            return await asyncio.to_thread(answers_of, hall, tell)
        finally:
            await server.end()

    assert asyncio.run(ask()) == expected("gateway, page")


def test_the_page_names_every_caller_for_every_listener():
    for listener, answers in matrix().items():
        assert answers.keys() == {*CALLERS, PLAIN}, listener
        assert set(answers.values()) <= ANSWERS, listener
        assert answers[PLAIN] == NO, listener


def test_by_https_a_revoked_device_is_cut_off_and_refused(layout):
    kept = layout.home / "press.pem"
    kept.write_text(issue(layout, HERE, "press").read_text())

    async def ask() -> None:
        async with serving(layout) as (server, port):
            reader, _writer = await connect(layout, port, kept)
            assert await status_of(layout, port, kept) == 404
            revoke(layout, HERE, "press")
            touched(layout.revoked(HERE), [layout.revoked(HERE).stat().st_mtime_ns])
            server.look_after()
            assert await is_cut(reader)
            assert await status_of(layout, port, kept) == 403
            assert server.refused_connections >= 2

    asyncio.run(ask())


@pytest.mark.parametrize(
    ("hello", "answer"),
    [
        (b"HELLO press\n", b"OK 0\n"),
        (b"HELLO press/arm\n", b"OK 0\n"),
        (b"HELLO drill\n", b"REFUSED HELLO says another name than the certificate\n"),
        (b"HELLO pressing\n", b"REFUSED HELLO says another name than the certificate\n"),
    ],
)
def test_a_device_is_called_as_its_certificate_says(layout, hello, answer):
    async def ask() -> bytes:
        async with listening(layout) as (_, _intake, port):
            reader, writer = await connect(layout, port, issue(layout, HERE, "press"))
            writer.write(hello)
            said = await asyncio.wait_for(reader.readline(), 10)
            writer.transport.abort()
            return said

    assert asyncio.run(ask()) == answer


def touched(file: Path, ns: list[int]) -> None:
    """Another time of writing, however coarse the file system's clock is."""
    ns[0] += 10**9
    os.utime(file, ns=(ns[0], ns[0]))


def test_a_revoked_device_is_cut_off_and_let_in_no_more_while_others_stay(layout):
    press, drill = issue(layout, HERE, "press"), issue(layout, HERE, "drill")
    kept = layout.home / "stolen" / "press.pem"
    kept.parent.mkdir()
    kept.write_text(press.read_text())

    async def ask() -> None:
        async with listening(layout) as (server, _, port):
            ended, _ended_writer = await connect(layout, port, press)
            stays, writer = await connect(layout, port, drill)
            writer.write(b"HELLO drill\n")
            await stays.readline()
            revoke(layout, HERE, "press")
            touched(layout.revoked(HERE), [layout.revoked(HERE).stat().st_mtime_ns])
            server.look_after()
            assert await is_cut(ended)
            server.look_after()
            assert server.connection_count == 1
            assert not await is_let_in(layout, port, kept)
            assert not await is_let_in(layout, port, kept, newest=False)
            assert await is_let_in(layout, port, issue(layout, HERE, "press"))
            assert server.refused_connections == 3
            writer.write(b"a\n")
            await writer.drain()
            writer.transport.abort()

    asyncio.run(ask())


async def is_cut(reader: asyncio.StreamReader) -> bool:
    try:
        return await asyncio.wait_for(reader.read(), 10) == b""
    except ConnectionError:
        return True


def test_an_authority_that_is_put_in_anothers_place_counts_without_a_restart(layout):
    async def ask() -> None:
        async with listening(layout) as (server, _, port):
            reader, _writer = await connect(layout, port, issue(layout, HERE, "press"))
            theirs = issue(layout, ELSEWHERE, "press")
            assert not await is_let_in(layout, port, theirs)
            stamp = [layout.devices_ca(HERE).stat().st_mtime_ns]
            write_atomic(layout.devices_ca(HERE), layout.devices_ca(ELSEWHERE).read_text())
            touched(layout.devices_ca(HERE), stamp)
            server.look_after()
            assert await is_let_in(layout, port, theirs)
            gone = layout.device(HERE, "press")
            assert not await is_let_in(layout, port, gone)
            assert await is_cut(reader)

    asyncio.run(ask())


@pytest.mark.parametrize("text", ["nonsense", "ab:cd press", "\0"])
def test_a_broken_list_is_refused_at_the_start_and_changes_nothing_later(layout, text, caplog):
    tls = ServerTls(tls_of(layout))
    stamp = [layout.revoked(HERE).stat().st_mtime_ns]
    layout.revoked(HERE).write_text(text)
    touched(layout.revoked(HERE), stamp)
    assert tls.renew() is None
    assert "line 1 begins with" in caplog.text
    with pytest.raises(MillraceError, match="SHA-256"):
        ServerTls(tls_of(layout))
    layout.revoked(HERE).write_text("# empty again\n")
    touched(layout.revoked(HERE), stamp)
    assert tls.renew() is not None


def test_a_list_that_goes_away_changes_nothing(layout):
    tls = ServerTls(tls_of(layout))
    layout.revoked(HERE).unlink()
    assert tls.renew() is None


def test_a_list_needs_an_authority():
    with pytest.raises(ValueError, match=r"tls\.clients"):
        Tls(certificate=Path("c"), revoked=Path("r"))


def test_what_was_issued_and_revoked_is_listed(layout):
    issue(layout, HERE, "drill")
    revoke(layout, HERE, "press")
    revoke(layout, HERE, "lost", fingerprint="AB:" * 31 + "AB")
    named = {one.name: bool(one.revoked) for one in list_devices(layout, HERE)}
    assert named == {"drill": False, "press": True, "lost": True}
    assert not layout.device(HERE, "press").exists()


@pytest.mark.parametrize("name", ["", "../x", "a b", "a/b", "x" * 65, "a\nb"])
def test_no_device_has_a_name_that_is_no_file(layout, name):
    with pytest.raises(MillraceError, match="is no name that can be used"):
        issue(layout, HERE, name)


def test_a_device_that_is_not_here_is_revoked_by_its_fingerprint_alone(layout):
    with pytest.raises(MillraceError, match="--fingerprint"):
        revoke(layout, HERE, "elsewhere")
    with pytest.raises(MillraceError, match="64 hexadecimal"):
        revoke(layout, HERE, "elsewhere", fingerprint="abc")
    assert "abc" not in revoked_text(layout, HERE)
