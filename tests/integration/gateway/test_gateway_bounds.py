"""What a gateway does with what it may not keep, what no broker takes, and what is damaged."""

from __future__ import annotations

import base64
import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from millrace.provisioning.core.site_rights import Acl, Operation, Resource, Topic, Wanted
from tests.integration.conftest import CHECKOUT, RunningSite
from tests.integration.stands.edge.gateways import (
    BIG,
    LINES,
    SMALL,
    Feeder,
    RunningGateway,
    readings,
)
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


def resend(gateway: RunningGateway) -> str:
    program = [
        CHECKOUT / ".venv/bin/millrace",
        "gateway",
        "resend",
        gateway.folder / "gateway.yaml",
    ]
    return subprocess.run(program, capture_output=True, text=True, check=True, timeout=60).stdout


def test_dead_letters_are_sent_again_under_their_own_numbers(site, new_gateway):
    """By a gateway that runs; and by its next start, where none could tell a topic before."""
    site.add_topic("dead-again", partitions=1)
    limit = Topic(name="dead-again", partitions=1, settings={"max.message.bytes": "20000"})
    site.provision(Wanted(topics=(limit,)))
    rule = {"field": "$.to", "among": ["dead-again"]}
    gateway = new_gateway({**LINES, "topic": rule})
    large = b'{"to":"dead-again","n":1,"pad":"%s"}' % Random(1).randbytes(25_000).hex().encode()
    stray = b'{"to":"dead-later","n":3}'
    device = gateway.device_at()
    device.send([b'{"to":"dead-again","n":0}', large, b'{"to":"dead-again","n":2}', stray])
    device.answers(4)
    wait_until(lambda: len(dead_letters(gateway)) == 2)
    wait_until(lambda: site.count("app", "dead-again") == 2)

    site.add_topic("dead-later", partitions=1)
    raised = {"max.message.bytes": "200000"}
    site.provision(Wanted(topics=(limit.model_copy(update={"settings": raised}),)))
    assert resend(gateway) == "lines: 2 dead letters are sent again\n"
    wait_until(lambda: numbers(site, "dead-again") == [0, 2, 1])
    wait_until(lambda: len(dead_letters(gateway)) == 1, what="the stray again")
    assert sequences(site, "dead-again") == [b"1", b"3", b"2"], "the gap is closed"

    gateway.stop()
    rule["among"].append("dead-later")
    gateway.write()
    assert resend(gateway) == "lines: 1 dead letters are sent again\n"
    gateway.start()
    wait_until(lambda: numbers(site, "dead-later") == [3])
    wait_until(lambda: gateway.log.count("all dead letters were sent again") == 2)
    files = {file.name for file in (gateway.folder / "data" / "lines").iterdir()}
    assert not any(name.startswith(("resend", "dead-letters")) for name in files), files


def sequences(site: RunningSite, topic: str) -> list[object]:
    consumer = Consumer({**site.settings("app"), "group.id": "app-test"})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        found = wait_until(lambda: consumer.consume(3, 10))
        return [dict(message.headers() or [])["millrace-seq"] for message in found]
    finally:
        consumer.close()


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
