"""Commands to devices, on a real broker: each is sent once at most and has one outcome."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from millrace.platform.core.platform import Platform
from tests.integration.conftest import CHECKOUT, RunningSite
from tests.integration.stands.edge.command_devices import (
    TcpDevice,
    command,
    outcome_of,
    outcomes,
    ready,
    send,
)
from tests.integration.stands.edge.gateways import LINES, RunningGateway
from tests.support import wait_until

COMMANDED = {**LINES, "commands": True, "topic": "commanded"}


@pytest.fixture(autouse=True)
def _topic(site: RunningSite) -> None:
    site.add_topic("commanded", partitions=1)


@pytest.fixture
def new_device() -> Iterator[Any]:
    made: list[TcpDevice] = []

    def make(gateway: RunningGateway, name: str, obey: Any = lambda _: "done") -> TcpDevice:
        made.append(TcpDevice(gateway, name, obey))
        made[-1].start()
        return made[-1]

    yield make
    for device in made:
        device.stop()


def test_a_device_is_told_and_what_it_says_is_its_outcome(site, new_gateway, new_device):
    gateway = new_gateway(COMMANDED)
    ready(gateway)
    device = new_device(gateway, "press-1", lambda _: "failed too hot")
    sent = command("press-1")
    send(site, sent)
    found = outcome_of(site, sent)
    assert (found["outcome"], found["text"], found["device"]) == ("failed", "too hot", "press-1")
    wait_until(lambda: device.noted == [sent["id"]])
    wait_until(lambda: device.messages_safe == 1)
    assert device.told == [sent["id"]]


def test_a_device_that_comes_later_is_told_and_one_that_does_not_come_is_not(
    site, new_gateway, new_device
):
    gateway = new_gateway(COMMANDED)
    ready(gateway)
    waits, expires = command("late"), command("never", life_s=1)
    send(site, waits, expires)
    assert outcome_of(site, expires)["text"] == "its device was not connected"
    gateway.stop(signal.SIGKILL)
    gateway.start()
    device = new_device(gateway, "late")
    assert outcome_of(site, waits)["outcome"] == "done"
    never = new_device(gateway, "never")
    new_device(gateway, "late-2")
    again = command("never")
    send(site, again)
    assert outcome_of(site, again)["outcome"] == "done"
    assert never.told == [again["id"]], "and not what has expired"
    assert device.told == [waits["id"]]


def test_what_is_replayed_is_not_sent_again(site, new_gateway, new_device):
    gateway = new_gateway(COMMANDED)
    ready(gateway)
    device = new_device(gateway, "press-2")
    done, expired = command("press-2"), command("nobody", life_s=1)
    send(site, done, expired)
    outcome_of(site, done)
    outcome_of(site, expired)
    nobody = new_device(gateway, "nobody")
    send(site, done, expired, done)
    gateway.stop(signal.SIGKILL)
    gateway.start()
    last = [command("press-2"), command("nobody")]
    send(site, done, expired, *last)
    for one in last:
        outcome_of(site, one)
    assert device.told == [done["id"], last[0]["id"]]
    assert nobody.told == [last[1]["id"]]
    assert len(outcomes(site, done["id"], expired["id"])) == 2


def test_what_was_sent_before_a_kill_is_not_sent_after_it_and_its_answer_counts(
    site, new_gateway, new_device
):
    gateway = new_gateway(COMMANDED)
    ready(gateway)
    says: dict[str, str] = {}
    device = new_device(gateway, "press-3", says.get)
    answered, unanswered = command("press-3"), command("press-3", life_s=8)
    send(site, answered, unanswered)
    wait_until(lambda: len(device.told) == 2)
    gateway.stop(signal.SIGKILL)
    device.stop()
    gateway.start()
    back = TcpDevice(gateway, "press-3", says.get)
    back._to_say[answered["id"]] = "done"  # noqa: SLF001 - it had not been noted
    back.start()
    try:
        assert outcome_of(site, answered)["outcome"] == "done"
        assert outcome_of(site, unanswered)["outcome"] == "expired"
        assert "not answered" in outcome_of(site, unanswered)["text"]
        assert back.told == []
    finally:
        back.stop()


def test_kills_at_any_moment_send_nothing_twice_and_give_each_command_one_outcome(
    site, new_gateway, new_device
):
    gateway = new_gateway(COMMANDED)
    ready(gateway)
    devices = [new_device(gateway, f"arm-{number}") for number in range(3)]
    sent: list[dict[str, Any]] = []
    for kill in range(5):
        burst = [command(f"arm-{number % 3}", life_s=15) for number in range(60)]
        sent += burst
        send(site, *burst)
        before = sum(len(device.told) for device in devices)
        wanted = before + 1 + kill * 10
        wait_until(lambda wanted=wanted: sum(len(d.told) for d in devices) >= wanted)
        gateway.stop(signal.SIGKILL)
        gateway.start()
    ids = [one["id"] for one in sent]
    found = wait_until(lambda: (o := outcomes(site, *ids)) and len(o) >= len(ids) and o, 60)
    assert sorted(one["id"] for one in found) == sorted(ids)
    told = [one for device in devices for one in device.told]
    assert len(told) == len(set(told)), "none was sent twice"
    by_verdict: dict[str, set[str]] = {}
    for one in found:
        by_verdict.setdefault(one["outcome"], set()).add(one["id"])
    assert by_verdict["done"] == set(told), "who was told has answered, and each answer counts"
    assert by_verdict.keys() <= {"done", "expired"}
    assert len(by_verdict["done"]) > 200


@pytest.mark.parametrize("moment", ["on_said", "on_noted"])
def test_an_answer_counts_though_the_gateway_is_killed_the_moment_it_is(
    site, new_gateway, new_device, moment
):
    """Said: it is said again, unless it is safe. Noted: it is safe."""
    gateway = new_gateway(COMMANDED)
    ready(gateway)
    device = new_device(gateway, f"arm-{moment}")

    def kill() -> None:
        if gateway.process:
            gateway.process.kill()

    setattr(device, moment, kill)
    sent = []
    for _ in range(3):
        sent.append(command(f"arm-{moment}", life_s=20))
        send(site, sent[-1])
        wait_until(lambda: gateway.process.poll() is not None)
        gateway.stop()
        gateway.start()
    setattr(device, moment, lambda: None)
    wait_until(lambda: len(outcomes(site, *[one["id"] for one in sent])) == 3, 30, poll_s=0.2)
    found = outcomes(site, *[one["id"] for one in sent])
    assert [one["outcome"] for one in found] == ["done"] * 3
    assert device.told == [one["id"] for one in sent]


def test_outcomes_wait_on_disk_while_the_broker_is_away(site, new_gateway, new_device):
    gateway = new_gateway(COMMANDED)
    ready(gateway)
    device = new_device(gateway, "press-4")
    sent = command("press-4", life_s=3)
    other = command("absent", life_s=3)
    send(site, sent, other)
    wait_until(lambda: device.told)
    site.freeze()
    try:
        wait_until(lambda: f"command {other['id']} of absent: expired" in gateway.log)
        gateway.stop(signal.SIGKILL)
        gateway.start()
    finally:
        site.thaw()
    assert outcome_of(site, sent)["outcome"] == "done"
    assert outcome_of(site, other)["outcome"] == "expired"


def test_only_named_devices_are_commanded_and_only_what_is_whole(site, new_gateway, new_device):
    gateway = new_gateway(COMMANDED, commands={"devices": ["press-5"]})
    ready(gateway)
    device, stranger = new_device(gateway, "press-5"), new_device(gateway, "stranger")
    site.produce("app", "commands", [(b"x", b"no command"), (b"x", None)])
    mine, theirs = command("press-5"), command("stranger")
    long = command("press-5", life_s=8 * 86_400)
    send(site, mine, theirs, long)
    assert outcome_of(site, mine)["outcome"] == "done"
    assert outcome_of(site, theirs)["outcome"] == "unknown device"
    assert outcome_of(site, long)["outcome"] == "refused"
    assert (device.told, stranger.told) == ([mine["id"]], [])
    assert "no command, passed over" in gateway.log


def test_a_device_cannot_answer_for_another(site, new_gateway, new_device):
    gateway = new_gateway(COMMANDED)
    ready(gateway)
    device = new_device(gateway, "press-6", lambda _: None)
    sent = command("press-6", life_s=3)
    send(site, sent)
    wait_until(lambda: device.told)
    other = new_device(gateway, "press-7", lambda _: None)
    other.stop()
    liar = TcpDevice(gateway, "press-7", lambda _: None)
    liar._to_say[sent["id"]] = "done"  # noqa: SLF001 - it was never told so
    liar.start()
    try:
        assert outcome_of(site, sent)["outcome"] == "expired"
    finally:
        liar.stop()


@pytest.fixture
def checkout(site: RunningSite, tmp_path: Path) -> Path:
    """A checkout that knows the one site, and whose passwords are the site's."""
    layout = Platform(tmp_path / "home")
    layout.sites.mkdir(parents=True)
    layout.pipelines.mkdir()
    layout.var.symlink_to(site.layout.var)
    text = yaml.safe_dump(site.spec.model_dump(mode="json", exclude_defaults=True))
    layout.site(site.spec.name).write_text(text)
    return layout.home


def call(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "MILLRACE_HOME": str(home)}
    program = [str(CHECKOUT / ".venv/bin/millrace"), "command", "plant-t", *arguments]
    return subprocess.run(
        program, capture_output=True, text=True, env=environment, timeout=60, check=False
    )


def test_an_operator_hears_what_became_of_a_command(new_gateway, new_device, checkout):
    gateway = new_gateway(COMMANDED)
    ready(gateway)
    device = new_device(gateway, "press-8", lambda _: "done 3 open")
    done = call(checkout, "press-8", "open", "--argument", "valve=3", "--wait", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["command"]["arguments"] == {"valve": 3}
    assert (said["outcome"]["outcome"], said["outcome"]["text"]) == ("done", "3 open")
    assert device.told == [said["command"]["id"]]
    late = call(checkout, "press-9", "open", "--expires", "2 seconds", "--wait")
    assert (late.returncode, late.stdout) == (1, "expired: its device was not connected\n")
    assert "is sent, until" in call(checkout, "press-8", "open").stdout
    wrong = call(checkout, "press-8", "open", "--argument", "valve")
    assert (wrong.returncode, wrong.stderr) == (
        2,
        "error: --argument=valve: write KEY=VALUE, such as speed=5\n",
    )
