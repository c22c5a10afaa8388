"""What a gateway does with what it may not keep, what no broker takes, and what is damaged."""

from __future__ import annotations

import base64
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millrace.core.provision import Acl, Operation, Resource, Topic, Wanted
from tests.integration.conftest import RunningSite
from tests.integration.gateways import BIG, LINES, SMALL, Feeder, RunningGateway, readings
from tests.support import wait_until


@pytest.fixture(autouse=True)
def _thawed(site: RunningSite) -> Iterator[None]:
    yield
    site.thaw()


def dead_letters(gateway: RunningGateway) -> list[dict[str, Any]]:
    file = gateway.folder / "data" / "lines" / "dead-letters.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def numbers(site: RunningSite, topic: str) -> list[int]:
    return [json.loads(value)["n"] for _, value in site.consume("app", topic)]


def test_a_full_spool_blocks_who_sends_and_then_takes_all(site, new_gateway):
    site.add_topic("bound-block", partitions=1)
    site.freeze()
    gateway = new_gateway({**LINES, **SMALL, "topic": "bound-block"})
    feeder = Feeder(gateway, "plc", BIG)
    feeder.start()
    wait_until(lambda: "no room" in gateway.log)
    safe = feeder.answered
    site.thaw()
    feeder.finish(60)

    assert safe < len(BIG)
    wait_until(lambda: site.count("app", "bound-block") == len(BIG))
    assert numbers(site, "bound-block") == list(range(100))


def test_a_full_spool_refuses_who_sends_and_takes_what_comes_later(site, new_gateway):
    site.add_topic("bound-refuse", partitions=1)
    site.freeze()
    gateway = new_gateway({**LINES, **SMALL, "topic": "bound-refuse", "at_bound": "refuse"})
    device = gateway.device_at()
    device.send(BIG)
    answers = device.answers(len(BIG))
    refused = [answer for answer in answers if answer == "REFUSED there is no room"]
    site.thaw()

    assert 0 < len(refused) < len(BIG)
    kept = [n for n, answer in enumerate(answers) if not answer.startswith("REFUSED")]
    wait_until(lambda: site.count("app", "bound-refuse") == len(kept))

    def answer() -> str:
        """Room comes a moment after what filled it was delivered."""
        device.send([BIG[99]])
        return device.answers(1)[0]

    wait_until(lambda: answer() == str(len(kept) + 1))
    wait_until(lambda: site.count("app", "bound-refuse") == len(kept) + 1)
    assert numbers(site, "bound-refuse") == [*kept, 99]


def test_who_numbers_its_messages_sends_again_what_was_refused(site, new_gateway):
    """Nothing behind a refused message is kept before it: else it would never be sent again."""
    site.add_topic("bound-again", partitions=1)
    site.freeze()
    gateway = new_gateway({**LINES, **SMALL, "topic": "bound-again", "at_bound": "refuse"})
    feeder = Feeder(gateway, "plc", BIG)
    feeder.start()
    wait_until(lambda: feeder.reconnects > 3)
    site.thaw()
    feeder.finish(60)

    wait_until(lambda: site.count("app", "bound-again") == len(BIG))
    assert numbers(site, "bound-again") == list(range(100))


def test_a_full_spool_drops_the_oldest_and_counts_it(site, new_gateway, tmp_path):
    site.add_topic("bound-drop", partitions=1)
    token = tmp_path / "token"
    token.write_text("secret")
    token.chmod(0o600)
    site.freeze()
    gateway = new_gateway(
        {**LINES, **SMALL, "topic": "bound-drop", "at_bound": "drop_oldest"},
        status={"token": str(token)},
    )
    device = gateway.device_at()
    device.send(BIG)
    assert len(device.answers(len(BIG))) == len(BIG)
    with gateway.http("secret", gateway.port + 1) as client:
        dropped = client.get("/status").json()["inputs"][0]["dropped"]
    site.thaw()

    assert 0 < dropped < len(BIG)
    wait_until(lambda: site.count("app", "bound-drop") >= len(BIG) - dropped, 60)
    left = numbers(site, "bound-drop")
    assert left == list(range(left[0], 100))


def test_what_is_too_large_is_a_dead_letter_and_stops_nothing(site, new_gateway):
    limit = {"max.message.bytes": "20000"}
    topic = Topic(name="dead-large", partitions=1, settings=limit)
    site.add_topic("dead-large", partitions=1)
    site.provision(Wanted(topics=(topic,)))
    gateway = new_gateway({**LINES, "topic": "dead-large"})
    messages = [*readings(0, 500), BIG[7], *readings(500, 500)]
    device = gateway.device_at()
    device.send(messages)
    device.answers(len(messages))

    wait_until(lambda: site.count("app", "dead-large") == 1_000)
    assert numbers(site, "dead-large") == list(range(1_000))
    (letter,) = dead_letters(gateway)
    assert base64.b64decode(letter["value"]) == BIG[7]
    assert "too large" in letter["reason"].lower()


def test_a_topic_without_a_right_is_waited_for_and_then_stops_nothing(site, new_gateway):
    site.add_topic("dead-mine", partitions=1)
    site.provision(Wanted(topics=(Topic(name="dead-theirs", partitions=1),)))
    rule = {"field": "$.to", "among": ["dead-mine", "dead-theirs"]}
    gateway = new_gateway({**LINES, "topic": rule}, broker={"patience": "1 second"})
    device = gateway.device_at()
    device.send([b'{"to":"dead-%s"}' % to for to in (b"mine", b"theirs", b"nobody's", b"mine")])
    device.answers(4)

    wait_until(lambda: site.count("app", "dead-mine") == 2)
    reasons = [letter["reason"] for letter in dead_letters(gateway)]
    assert "no right to use topic 'dead-theirs'" in reasons[0]
    assert reasons[1] == "none of the input's topics is named in it"
    site.add_topic("dead-theirs", partitions=1)
    wait_until(lambda: _is_taken(gateway, site), 60, poll_s=1)


def _is_taken(gateway: RunningGateway, site: RunningSite) -> bool:
    device = gateway.device_at()
    device.send([b'{"to":"dead-theirs"}'])
    device.answers(1)
    device.close()
    return site.count("app", "dead-theirs") > 0


def test_a_right_that_is_taken_away_and_given_back_takes_nothing_along(site, new_gateway):
    """Within the patience, what is refused waits."""
    site.add_topic("dead-revoked", partitions=1)
    gateway = new_gateway({**LINES, "topic": "dead-revoked"})
    feeder = Feeder(gateway, "plc", readings(0, 150_000))
    feeder.start()
    wait_until(lambda: site.count("app", "dead-revoked") > 1_000)
    right = Acl(
        user="gateway", operation=Operation.WRITE, resource=Resource.TOPIC, name="dead-revoked"
    )
    site.revoke(right)
    wait_until(lambda: "no right" in gateway.log)
    site.add_topic("dead-revoked", partitions=1)
    feeder.finish(60)

    wait_until(lambda: site.count("app", "dead-revoked") == 150_000, 60)
    assert sorted(numbers(site, "dead-revoked")) == list(range(150_000))
    assert dead_letters(gateway) == []


def spool_files(gateway: RunningGateway) -> list[Path]:
    return sorted((gateway.folder / "data" / "lines" / "spool").glob("*.spool"))


def test_a_damaged_segment_is_told_of_and_the_rest_is_saved(site, new_gateway):
    site.add_topic("damaged", partitions=1)
    site.freeze()
    gateway = new_gateway({**LINES, **SMALL, "spool": {"size": "8 MB", "segment": "1 MB"},
                           "topic": "damaged"})  # fmt: skip
    device = gateway.device_at()
    device.send(BIG)
    device.answers(len(BIG))
    gateway.stop(signal.SIGKILL)
    with spool_files(gateway)[1].open("r+b") as file:
        file.seek(320_000)
        file.write(b"damage")
    gateway.start()
    site.thaw()

    wait_until(lambda: site.count("app", "damaged") == len(BIG) - 1, 60)
    assert "are damaged" in gateway.log
    left = numbers(site, "damaged")
    assert len(set(range(100)) - set(left)) == 1
    assert left == sorted(left)
