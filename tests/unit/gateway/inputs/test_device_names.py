"""A device's name is one connection's; a client's keys are its own."""

from __future__ import annotations

import socket
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.gateway.inputs.core.contested import Contested
from millrace.gateway.inputs.core.requests import request_origin
from millrace.gateway.inputs.io import device_names
from millrace.gateway.inputs.io.tcp_socket import Sign
from tests.support import wait_until
from tests.unit.gateway.inputs.listening import Listening, lines_of, listening

REFUSED = b"REFUSED another device has said HELLO with this name, and is there"


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_names, "_PATIENT_S", 0.5)


def test_a_name_stays_with_the_device_that_is_there(tmp_path: Path) -> None:
    """Else the second would be told of what the first has sent, and its own never be kept."""
    with listening(tmp_path, acknowledge=True) as gateway:
        first = gateway.connect(b"HELLO x\n", b"first 1\n")
        assert lines_of(first, 2) == [b"OK 0", b"1"]
        second = gateway.connect(b"HELLO x\n", b"second 1\nsecond 2\n")
        assert lines_of(second, 2) == [REFUSED]
        first.sendall(b"first 2\n")
        assert lines_of(first, 1) == [b"2"]
        assert gateway.kept == [b"first 1", b"first 2"]
        assert gateway.intake.contested.count == 1


def test_a_name_is_free_when_its_connection_has_ended(tmp_path: Path) -> None:
    with listening(tmp_path, acknowledge=True) as gateway:
        first = gateway.connect(b"HELLO x\n", b"one\n")
        assert lines_of(first, 2) == [b"OK 0", b"1"]
        first.close()
        second = gateway.connect(b"HELLO x\n", b"two\n")
        assert lines_of(second, 2) == [b"OK 1", b"2"]
        assert gateway.kept == [b"one", b"two"]
        assert gateway.intake.contested.count == 0


def test_a_farewell_that_is_not_read_yet_frees_a_name(tmp_path: Path) -> None:
    """The old connection is not read while there is too much under way."""
    with listening(tmp_path, commits=False, acknowledge=True) as gateway:
        messages = [b"%d" % number + b"x" * 1_000 for number in range(1_000)]
        first = gateway.connect(b"HELLO x\n")
        assert lines_of(first, 1) == [b"OK 0"]
        first.sendall(b"".join(one + b"\n" for one in messages))
        wait_until(lambda: gateway.intake.taken_bytes > 200 << 10)
        taken = gateway.intake.taken
        assert taken < len(messages)
        first.close()
        second = gateway.connect(b"HELLO x\n")
        gateway.committer.start()
        (said,) = lines_of(second, 1)
        assert gateway.intake.contested.count == 0
        safe = int(said.removeprefix(b"OK "))
        if rest := messages[safe:]:
            second.sendall(b"".join(one + b"\n" for one in rest))
            assert lines_of(second, len(rest))[-1] == b"1000"
        assert gateway.kept == messages


def test_a_device_whose_machine_gives_no_sign_gives_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a cut of which nobody was told: the new connection is the same device's."""
    monkeypatch.setattr(device_names, "_GIVEN_UP_S", 0.3)
    with listening(tmp_path, acknowledge=True) as gateway:
        first = gateway.connect(b"HELLO x\n", b"one\n")
        assert lines_of(first, 2) == [b"OK 0", b"1"]
        monkeypatch.setattr(device_names, "sign_of", lambda _: Sign(is_open=True, silent_s=9))
        second = gateway.connect(b"HELLO x\n", b"two\n")
        assert lines_of(second, 2) == [b"OK 1", b"2"]
        assert first.recv(1) == b""
        assert gateway.intake.contested.count == 0


def test_one_of_many_that_want_a_name_gets_it(tmp_path: Path) -> None:
    with listening(tmp_path, acknowledge=True) as gateway:
        first = gateway.connect(b"HELLO x\n")
        assert lines_of(first, 1) == [b"OK 0"]
        others = [gateway.connect(b"HELLO x\n") for _ in range(3)]
        wait_until(lambda: gateway.server.connection_count == 4)
        first.close()
        said = [lines_of(one, 1) for one in others]
        assert sorted(said) == [[b"OK 0"], [REFUSED], [REFUSED]]


def test_a_contested_name_is_told_for_a_while_and_so_many_are_remembered() -> None:
    contested = Contested()
    assert contested.note("x", 0)
    assert not contested.note("x", 599)
    assert contested.names(1_198) == ("x",)
    assert contested.names(1_199) == ()
    assert contested.note("x", 1_199)
    for number in range(1_000):
        contested.note(f"n{number}", 1_200)
    assert len(contested.names(1_200)) == 100
    assert contested.count == 1_003


# Keys of requests.


@pytest.mark.generated
@given(*[st.tuples(st.text(), st.text(), st.binary())] * 2)
def test_requests_are_taken_for_one_only_where_all_of_them_is_equal(first, second):
    def as_sent(client: str, key: str, body: bytes) -> tuple[str, str, bytes]:
        return client.replace("\0", ""), key.replace("\0", ""), body

    first, second = as_sent(*first), as_sent(*second)
    assert (request_origin(*first) == request_origin(*second)) == (first == second)


def post(gateway: Listening, token: str, key: str, body: str) -> dict[str, int]:
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": key}
    url = f"http://127.0.0.1:{gateway.port}/messages"
    return httpx.post(url, headers=headers, content=body).raise_for_status().json()


def test_two_clients_with_one_key_are_both_kept(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.touch(0o600)
    tokens.write_text("one\ntwo\n")
    with listening(tmp_path, kind="http", tokens=tokens) as gateway:
        assert post(gateway, "one", "k", "a")["known"] == 0
        assert post(gateway, "two", "k", "a")["known"] == 0
        assert post(gateway, "one", "k", "a")["known"] == 1
        assert post(gateway, "one", "k", "b")["known"] == 0
        assert gateway.kept == [b"a", b"a", b"b"]
        assert gateway.committer.known == 1


def test_a_device_that_sends_nothing_for_long_keeps_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its machine answers for it, when it is asked."""
    monkeypatch.setattr(device_names, "_GIVEN_UP_S", 1.3)
    monkeypatch.setattr(device_names, "_PATIENT_S", 3.0)
    with listening(tmp_path, acknowledge=True) as gateway:
        first = gateway.connect(b"HELLO x\n")
        assert lines_of(first, 1) == [b"OK 0"]
        first.shutdown(socket.SHUT_WR)
        second = gateway.connect(b"HELLO x\n")
        assert lines_of(second, 1) == [b"OK 0"]
        assert lines_of(gateway.connect(b"HELLO x\n"), 1) == [REFUSED]
        second.sendall(b"still here\n")
        assert lines_of(second, 1) == [b"1"]
