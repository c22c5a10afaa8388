"""Clients that do what no device should: the devices beside them notice nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from millrace.base.addresses import LOCAL_NAMES
from millrace.secrets.core.certificates import Role, fingerprint, read_certificate
from millrace.secrets.io.device_certificates import issue, revoked_text
from millrace.secrets.io.pki import ensure_certificate
from tests.integration.conftest import RunningSite
from tests.integration.stands.edge.gateways import (
    BIG,
    LINES,
    SMALL,
    Device,
    Feeder,
    NewGateway,
    RunningGateway,
    readings,
)
from tests.support import wait_until

COUNT = 10_000
Attack = Callable[[RunningGateway], None]


def send_garbage(gateway: RunningGateway) -> None:
    for _ in range(20):
        with suppress(OSError):
            gateway.device_at().socket.sendall(os.urandom(20_000))


def send_no_tls(gateway: RunningGateway) -> None:
    for _ in range(100):
        with socket.create_connection(("127.0.0.1", gateway.port), 10) as raw, suppress(OSError):
            raw.sendall(os.urandom(2_000))


def send_long_lines(gateway: RunningGateway) -> None:
    for _ in range(3):
        device = gateway.device_at()
        device.send([b"x" * 10_000_000])
        assert device.answers(1) == ["REFUSED longer than 1000000 bytes"]
        device.close()


def send_half_lines(gateway: RunningGateway) -> None:
    for _ in range(50):
        device = gateway.device_at()
        device.socket.sendall(b'{"id":"d0","n":')
        device.close()


def reconnect(gateway: RunningGateway) -> None:
    for _ in range(200):
        gateway.device_at().close()


@pytest.mark.parametrize(
    "attack", [send_garbage, send_no_tls, send_long_lines, send_half_lines, reconnect]
)
def test_a_device_notices_nothing_of_who_misbehaves_beside_it(
    site: RunningSite, new_gateway: NewGateway, attack: Attack
) -> None:
    topic = f"hostile-{attack.__name__.replace('_', '-')}"
    site.add_topic(topic, partitions=1)
    gateway = new_gateway({**LINES, "topic": topic})
    feeder = Feeder(gateway, "plc", readings(0, COUNT))
    feeder.start()
    attack(gateway)
    feeder.finish(60)

    wait_until(lambda: len(good_numbers(site, topic)) >= COUNT)
    assert good_numbers(site, topic) == list(range(COUNT))
    assert feeder.reconnects == 0
    gateway.stop()


def good_numbers(site: RunningSite, topic: str) -> list[int]:
    """Garbage is kept and delivered like any message: it is the lake that judges it."""
    values = [value or b"" for _, value in site.consume("app", topic)]
    return [json.loads(value)["n"] for value in values if value.startswith(b'{"id":"d')]


def test_who_begins_a_message_and_does_not_end_it_makes_room_for_others(
    site: RunningSite, new_gateway: NewGateway
) -> None:
    site.add_topic("hostile-slow", partitions=1)
    bounds = {"patience": "1 second", "max_connections": 20}
    gateway = new_gateway({**LINES, **bounds, "topic": "hostile-slow"})
    slow = [gateway.device_at().socket for _ in range(20)]
    over = threading.Event()

    def send_a_byte_now_and_then() -> None:
        while not over.wait(0.2):
            for one in slow:
                with suppress(OSError):
                    one.send(b"x")

    dripping = threading.Thread(target=send_a_byte_now_and_then, daemon=True)
    dripping.start()
    feeder = Feeder(gateway, "plc", readings(0, 1_000))
    feeder.start()
    try:
        feeder.finish(20)
    finally:
        over.set()
        dripping.join()

    assert feeder.reconnects > 0
    wait_until(lambda: good_numbers(site, "hostile-slow") == list(range(1_000)))


def test_connections_leave_handles_for_the_disk_and_the_broker(
    site: RunningSite, new_gateway: NewGateway
) -> None:
    """As many clients as want to, across changes of the spool's segment."""
    site.add_topic("hostile-handles", partitions=1)
    gateway = new_gateway({**LINES, **SMALL, "topic": "hostile-handles"})
    gateway.stop()
    gateway.open_files = 256
    gateway.start()
    feeder = Feeder(gateway, "plc", BIG)
    device = gateway.device_at()
    device.send(BIG[:1])
    device.answers(1)
    idle = [one for one in (connected(gateway) for _ in range(300)) if one]
    assert gateway.process
    assert len(list(Path(f"/proc/{gateway.process.pid}/fd").iterdir())) < 256
    device.send(BIG[1:])
    device.answers(len(BIG) - 1)
    wait_until(lambda: len(good_numbers(site, "hostile-handles")) == len(BIG))
    (suffice_for,) = re.findall(r"open files suffice for (\d+)", gateway.log)
    assert len(idle) >= int(suffice_for), "as many wait for a handshake as there is room for"
    for one in idle:
        one.close()
    feeder.start()
    feeder.finish(60)
    assert gateway.process.poll() is None


def connected(gateway: RunningGateway) -> socket.socket | None:
    try:
        return socket.create_connection(("127.0.0.1", gateway.port), 10)
    except ConnectionResetError:
        return None


def test_a_broker_that_stands_still_is_told_of_soon_and_given_up(
    site: RunningSite, new_gateway: NewGateway, tmp_path: Path
) -> None:
    """As one behind a link that was cut: its connections are open, and lead nowhere."""
    site.add_topic("hostile-still", partitions=1)
    token = tmp_path / "token"
    token.write_text("secret")
    token.chmod(0o600)
    gateway = new_gateway({**LINES, "topic": "hostile-still"}, status={"token": str(token)})
    wait_until(lambda: "connected" in gateway.log)
    site.freeze()
    try:
        device = gateway.device_at()
        device.send(readings(0, 100))
        device.answers(100)
        with gateway.http("secret", gateway.port + 1) as client:
            wait_until(lambda: client.get("/status").json()["alarms"], 15, "told of")
    finally:
        site.thaw()
    wait_until(lambda: good_numbers(site, "hostile-still") == list(range(100)))


def test_half_a_renewed_certificate_ends_nothing_and_the_whole_one_is_taken_up(
    site: RunningSite, new_gateway: NewGateway
) -> None:
    site.add_topic("hostile-half", partitions=1)
    gateway = new_gateway({**LINES, "topic": "hostile-half"})
    own = gateway.folder / "own.pem"
    shutil.copy(gateway.inputs[0]["tls"]["certificate"], own)
    good = own.read_text()
    gateway.inputs[0]["tls"]["certificate"] = str(own)
    gateway.write()
    gateway.stop()
    gateway.start()

    own.write_text(good[: len(good) // 2])
    wait_until(lambda: "own.pem: not taken up" in gateway.log, what="told of")
    assert served(gateway) == ssl.PEM_cert_to_DER_cert(first_certificate(good))
    another = ensure_certificate(
        site.layout, site.layout.certificate("another", "gateway"), "x", Role.SERVER, LOCAL_NAMES
    )
    other = another.read_text()
    own.write_text(good[: good.index("-----BEGIN CERTIFICATE")] + first_certificate(other))
    wait_until(lambda: "key values mismatch" in gateway.log, what="told of the other key")
    assert served(gateway) == ssl.PEM_cert_to_DER_cert(first_certificate(good))
    own.write_text(other)
    wait_until(lambda: served(gateway) == ssl.PEM_cert_to_DER_cert(first_certificate(other)))


def served(gateway: RunningGateway) -> bytes | None:
    device = gateway.device_at()
    try:
        assert isinstance(device.socket, ssl.SSLSocket)
        return device.socket.getpeercert(binary_form=True)
    finally:
        device.close()


def first_certificate(pem: str) -> str:
    end = "-----END CERTIFICATE-----"
    return pem[pem.index("-----BEGIN CERTIFICATE") : pem.index(end) + len(end)]


def test_a_revoked_device_is_gone_within_two_seconds_and_the_others_notice_nothing(
    site: RunningSite, new_gateway: NewGateway, tmp_path: Path
) -> None:
    site.add_topic("revoked", partitions=1)
    layout = site.layout
    revoked = tmp_path / "revoked.txt"
    revoked.write_text(revoked_text(layout, "nowhere"))
    gateway = new_gateway({**LINES, "topic": "revoked"})
    gateway.inputs[0]["tls"]["revoked"] = str(revoked)
    gateway.write()
    gateway.stop()
    gateway.start()
    stolen = issue(layout, site.spec.name, "stolen")
    thief = Device.at("127.0.0.1", gateway.port, layout.ca, stolen, "stolen")
    assert thief.greet() == 0
    feeder = Feeder(gateway, "plc", readings(0, COUNT))
    feeder.start()
    revoked.write_text(f"{fingerprint(read_certificate(stolen.read_text()))} stolen\n")
    thief.socket.settimeout(2)
    with suppress(ConnectionError):
        assert thief.socket.recv(1) == b""
    with pytest.raises(OSError):  # noqa: PT011 - cut off, whatever that is called
        Device.at("127.0.0.1", gateway.port, layout.ca, stolen, "stolen").greet()
    feeder.finish(60)
    assert feeder.reconnects == 0
    gateway.stop()


def test_nobody_takes_the_name_of_anothers_certificate(
    site: RunningSite, new_gateway: NewGateway
) -> None:
    site.add_topic("named", partitions=1)
    gateway = new_gateway({**LINES, "topic": "named", "names": "certificate"})
    its_own, stranger = gateway.device_at(name="device-1/arm"), gateway.device_at(name="device-2")
    assert its_own.greet() == 0
    stranger.socket.sendall(b"HELLO device-2\nnot taken\n")
    assert stranger.answers(1) == ["REFUSED HELLO says another name than the certificate"]
    with pytest.raises(ConnectionResetError):
        stranger.answers(1)
    its_own.send([b"taken"])
    assert its_own.answers(1) == ["1"]
    wait_until(lambda: site.consume("app", "named"))
    assert [value for _, value in site.consume("app", "named")] == [b"taken"]
    gateway.stop()
