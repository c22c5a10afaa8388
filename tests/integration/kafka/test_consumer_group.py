"""The guide's workers count every message once, whoever of them is killed, asleep, or new."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.integration.conftest import CHECKOUT, RunningSite
from tests.integration.stands.services.held_worker import WINDOWS
from tests.support import wait_until

SENSORS, PARTITIONS = 12, 6
TIMEOUT_S = 60


@dataclass
class Group:
    """Workers of one group, on one topic, with one database."""

    site: RunningSite
    topic: str
    folder: Path
    sent: int = 0
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.configure({"session.timeout.ms": 6_000})

    def configure(self, extra: dict[str, object]) -> None:
        settings = {**self.site.settings("app"), **extra}
        (self.folder / "app.json").write_text(json.dumps(settings))

    def add_worker(self) -> subprocess.Popen[bytes]:
        return self._start(CHECKOUT / "examples" / "worker.py")

    def add_held(self, window: str) -> subprocess.Popen[bytes]:
        """A worker that is in the window when this returns."""
        mark = self.folder / "mark"
        held = self._start("-m", "tests.integration.stands.services.held_worker", window, mark)
        wait_until(mark.exists, TIMEOUT_S, f"held {window} its transaction")
        return held

    def release(self) -> None:
        (self.folder / "mark").unlink()

    def _start(self, *program: object) -> subprocess.Popen[bytes]:
        words = [self.folder / "app.json", self.topic, self.store, "--group", self.topic]
        command = [sys.executable, *map(str, (*program, *words))]
        with (self.folder / "log").open("ab") as log:
            self.workers.append(subprocess.Popen(command, stdout=log, stderr=log, cwd=CHECKOUT))
        return self.workers[-1]

    def send(self, rounds: int) -> None:
        """One message of each sensor in each round; the value is the round's number."""
        schema = self.site.schemas.latest("temperature-data")
        numbers = range(self.sent, self.sent + rounds)
        messages = [
            (f"s{sensor}".encode(), schema.encode(_record(f"s{sensor}", number)))
            for number in numbers
            for sensor in range(SENSORS)
        ]
        self.site.produce("app", self.topic, messages)
        self.sent += rounds

    @property
    def store(self) -> Path:
        return self.folder / "results.db"

    def results(self) -> dict[str, tuple[int, float, float]]:
        """Per sensor: how many, their sum, the newest."""
        try:
            with sqlite3.connect(f"file:{self.store}?mode=ro", uri=True) as database:
                rows = database.execute("SELECT id, messages, total, newest FROM sensor")
                return {row[0]: row[1:] for row in rows}
        except sqlite3.OperationalError:
            return {}

    def is_exact(self) -> bool:
        """All of it once, and the newest last."""
        expected = (self.sent, self.sent * (self.sent - 1) / 2, self.sent - 1)
        return self.results() == {f"s{sensor}": expected for sensor in range(SENSORS)}

    def clean_up(self) -> None:
        for worker in self.workers:
            worker.kill()
            worker.wait(10)


def _record(sensor: str, number: int) -> dict[str, object]:
    return {"sensor_id": sensor, "timestamp": 0, "temperature": float(number), "unit": "C"}


@pytest.fixture
def group(site: RunningSite, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Group]:
    topic = "app-" + request.node.name[5:40].replace("_", "-")
    site.add_topic(topic, PARTITIONS)
    made = Group(site, topic, tmp_path)
    yield made
    made.clean_up()


def test_killed_in_any_window_nothing_is_lost_or_counted_twice(group: Group):
    # Under a name of its own a worker is replaced at once, not after its session's end.
    group.configure({"group.instance.id": "one"})
    for window in WINDOWS:
        group.send(20)
        group.add_held(window).kill()
        group.release()
    group.add_worker()
    wait_until(group.is_exact, TIMEOUT_S, "exact")


def test_a_killed_worker_is_replaced_by_old_and_new_ones(group: Group):
    first, second = group.add_worker(), group.add_worker()
    group.send(100)
    wait_until(group.is_exact, TIMEOUT_S, "exact")
    first.kill()
    third = group.add_worker()
    group.send(100)
    wait_until(group.is_exact, TIMEOUT_S, "exact again")
    assert (second.poll(), third.poll()) == (None, None)


def test_a_worker_that_slept_adds_nothing_that_others_have_added(group: Group):
    group.send(100)
    asleep = group.add_held("before")
    asleep.send_signal(signal.SIGSTOP)
    awake = group.add_worker()
    wait_until(group.is_exact, TIMEOUT_S, "the other took all of it over")
    group.release()
    asleep.send_signal(signal.SIGCONT)
    group.send(100)
    wait_until(group.is_exact, TIMEOUT_S, "exact again")
    awake.terminate()
    assert awake.wait(20) == 0
    group.send(100)
    wait_until(group.is_exact, TIMEOUT_S, "who slept works on")
    assert asleep.poll() is None


def test_a_stopped_group_goes_on_where_its_results_end(group: Group):
    """Whatever the broker thinks of it."""
    group.send(50)
    worker = group.add_worker()
    wait_until(group.is_exact, TIMEOUT_S, "exact")
    wait_until(lambda: _lag(group) == 0, TIMEOUT_S, "its lag is to be seen at the broker")
    worker.terminate()
    assert worker.wait(20) == 0
    _forget_at_broker(group)
    group.send(50)
    group.add_worker()
    wait_until(group.is_exact, TIMEOUT_S, "exact")


def _forget_at_broker(group: Group) -> None:
    consumer = Consumer({**group.site.settings("app"), "group.id": group.topic})
    parts = [TopicPartition(group.topic, number, 0) for number in range(PARTITIONS)]
    consumer.commit(offsets=parts, asynchronous=False)
    consumer.close()


def _lag(group: Group) -> int:
    """As the broker tells it of the group."""
    consumer = Consumer({**group.site.settings("app"), "group.id": group.topic})
    try:
        parts = [TopicPartition(group.topic, number) for number in range(PARTITIONS)]
        committed = consumer.committed(parts, timeout=10)
        ends = [consumer.get_watermark_offsets(part, timeout=10)[1] for part in parts]
        return sum(end - max(0, at.offset) for end, at in zip(ends, committed, strict=True))
    finally:
        consumer.close()
