"""What connections may take: memory, handles, time. Each bound is met by clients that go beyond."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from millrace.base.errors import MillraceError
from millrace.gateway.inputs.core.handles import connections_within
from millrace.gateway.inputs.io import http_server, https, listener, tcp
from tests.support import wait_until
from tests.unit.gateway.inputs.listening import Listening, lines_of, listening

BODY = b"\r\nContent-Length: 4\r\n\r\n\xff\xfe{}"
REQUEST = b"POST /messages HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody"


def has_ended(connected: socket.socket) -> bool:
    connected.settimeout(0.01)
    with suppress(TimeoutError):
        try:
            return connected.recv(1) == b""
        except ConnectionResetError:
            return True
    return False


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], int]]:
    """How many bytes of answers wait, of each connection."""
    sizes: list[Callable[[], int]] = []
    made = tcp.Connection.connection_made

    def connection_made(self, transport):
        sizes.append(transport.get_write_buffer_size)
        made(self, transport)

    monkeypatch.setattr(tcp.Connection, "connection_made", connection_made)
    return sizes


def test_a_client_that_reads_no_answers_is_not_read_and_then_ended(
    tmp_path: Path, unread: list[Callable[[], int]]
) -> None:
    with listening(tmp_path, acknowledge=True, patience="1 second", max_message=3) as gateway:
        deaf = socket.socket()
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        deaf.connect(("127.0.0.1", gateway.port))
        deaf.settimeout(0.2)
        wait_until(lambda: unread)
        sent, largest = 0, 0
        deadline_s = time.monotonic() + 30
        with suppress(ConnectionError):
            while time.monotonic() < deadline_s:
                with suppress(TimeoutError):
                    sent += deaf.send(b"four\n" * 100_000) // 5
                largest = max(largest, unread[0]())
        assert gateway.intake.cut == 1
        wait_until(lambda: gateway.server.connection_count == 0)
        assert sent > 100_000, "it was read as long as its answers could be sent"
        assert largest < 512 << 10, "also of the shortest messages there are"
        assert lines_of(gateway.connect(b"one\n"), 1), "others are served"


def test_who_holds_most_of_what_has_begun_makes_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tcp, "_BEGUN_BYTES", 2_000_000)
    with listening(tmp_path, acknowledge=True) as gateway:
        small = gateway.connect(b"begun ")
        large = [gateway.connect(b"x" * 400_000) for _ in range(8)]
        wait_until(lambda: sum(map(has_ended, large)) >= 3)
        assert gateway.intake.cut >= 3
        assert gateway.server._connections._begun_bytes <= 2_000_000  # noqa: SLF001
        small.sendall(b"and ended\n")
        assert lines_of(small, 1) == [b"1"]
        assert gateway.kept == [b"begun and ended"]
        for one in large:
            one.close()
        wait_until(lambda: gateway.server._connections._begun_bytes == 0)  # noqa: SLF001


def test_requests_that_have_begun_are_bounded_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "_BEGUN_BYTES", 1_000_000)
    head = b"POST /messages HTTP/1.1\r\nHost: x\r\nContent-Length: 600000\r\n\r\n"
    with listening(tmp_path, kind="http") as gateway:
        first = gateway.connect(head, b"x" * 500_000)
        wait_until(lambda: gateway.server._begun_bytes == 500_000)  # noqa: SLF001
        second = gateway.connect(head, b"x" * 550_000)
        assert lines_of(second, 1)[0] == b"HTTP/1.1 503 Service Unavailable"
        first.sendall(b"x" * 100_000)
        assert lines_of(first, 1)[0] == b"HTTP/1.1 200 OK"
        assert gateway.intake.cut == 1
        wait_until(lambda: gateway.server._begun_bytes == 0)  # noqa: SLF001
        second.close()


def is_refused(gateway: Listening) -> bool:
    try:
        connected = gateway.connect()
    except ConnectionResetError:
        return True
    return bool(wait_until(lambda: has_ended(connected), 5))


@pytest.mark.parametrize("kind", ["tcp", "http"])
def test_there_are_as_many_connections_as_may_be(tmp_path: Path, kind: str) -> None:
    with listening(tmp_path, kind=kind, max_connections=3) as gateway:
        open_ones = [gateway.connect() for _ in range(3)]
        wait_until(lambda: gateway.server.connection_count == 3)
        assert all(is_refused(gateway) for _ in range(20))
        assert gateway.server.refused_connections == 20
        assert not any(map(has_ended, open_ones))
        open_ones[0].close()
        wait_until(lambda: gateway.server.connection_count == 2)
        assert not has_ended(gateway.connect())


@pytest.mark.parametrize("words", [b"", b"POST /mess", REQUEST[:40]], ids=repr)
def test_a_connection_without_a_request_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: bytes
) -> None:
    monkeypatch.setattr(https, "_IDLE_S", 0.3)
    with listening(tmp_path, kind="http") as gateway:
        idle = gateway.connect(words)
        wait_until(lambda: has_ended(idle), 3)
        assert lines_of(gateway.connect(REQUEST), 1)[0] == b"HTTP/1.1 200 OK"


def dripping(gateway: Listening, drip: bytes) -> bool:
    """Whether a connection that sends a byte now and then is ended."""
    one = gateway.connect(b"POST /messages HTTP/1.1\r\nHost: x\r\nX-Long: ")
    ends_s = time.monotonic() + 3
    while time.monotonic() < ends_s and not has_ended(one):
        with suppress(OSError):
            one.sendall(drip)
    return time.monotonic() < ends_s


def test_headers_that_drip_are_no_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(https, "_IDLE_S", 0.3)
    with listening(tmp_path, kind="http") as gateway:
        assert dripping(gateway, b"x")


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"POST /messages HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip" + BODY,
        b"POST /messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \xff\xfe" + BODY,
        b"POST /messages HTTP/1.1\r\nHost: x\r\nIdempotency-Key: \xff" + BODY,
        b"POST /messages HTTP/1.1\r\nHost: x\r\nContent-Type: \xff" + BODY,
        b"POST /messages%ff HTTP/1.1\r\nHost: \xff\r\n\r\n",
        b"POST /messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\nHost: x\r\n\r\nzz\r\n",
        b"\xff\xfe\r\n\r\n",
    ],
    ids=repr,
)
def test_a_request_that_nobody_can_read_is_answered_and_is_no_fault_of_ours(
    tmp_path: Path, request_bytes: bytes
) -> None:
    with listening(tmp_path, kind="http", key={"field": "$.id"}) as gateway:
        status = lines_of(gateway.connect(request_bytes), 1)[0].split()[1]
        assert status in (b"200", b"400", b"404")


def test_handles_are_kept_back_for_disk_and_broker() -> None:
    assert connections_within(65_536, 4) > 60_000
    assert 0 < connections_within(256, 3) < 150
    with pytest.raises(MillraceError, match=r"ulimit -n.*LimitNOFILE"):
        connections_within(128, 3)


def test_all_inputs_together_stay_within_the_open_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener, "_raised_limit", lambda: 130)
    with listening(tmp_path) as gateway:
        left = connections_within(130, 1)
        taken = [gateway.connect() for _ in range(left)]
        wait_until(lambda: gateway.server.connection_count == left)
        assert is_refused(gateway)
        assert not any(map(has_ended, taken))
