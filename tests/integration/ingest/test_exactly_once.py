"""The ingest job against a real broker: every record once, through kills, stops and fences."""

from __future__ import annotations

import signal
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from deltalake import DeltaTable, QueryBuilder

from millrace.ingest.core.ingest_spec import SiteInput
from millrace.jobs.core.heartbeat import Phase
from millrace.jobs.io.generations import claim
from millrace.lake.core.columns import Column
from millrace.lake.core.refine import RefineSpec
from millrace.lake.io.tables import open_table
from tests.integration.conftest import NewDriver, RunningSite
from tests.integration.stands.lake.ingest_driver import START_TIMEOUT_S, IngestDriver
from tests.support import free_ports, wait_until

pytestmark = pytest.mark.engines
Row = dict[str, Any]


NUMBERS = RefineSpec(
    format="json", columns=(Column(name="n", type="bigint", path=("n",), required=True),)
)


class Producing:
    """Numbered records in bursts with pauses between, until told to stop; half of them are JSON."""

    def __init__(self, site: RunningSite, topic: str) -> None:
        self._producer = Producer(site.settings("app"))
        self._topic = topic
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.sent = 0
        self.failed: list[object] = []

    def __enter__(self) -> Producing:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()
        assert self._producer.flush(30) == 0
        assert not self.failed

    def _run(self) -> None:
        while not self._stopped.wait(0.4 if self.sent % 3 else 1.2):
            for _ in range(50):
                self._send()

    def _send(self) -> None:
        key = str(self.sent).encode()
        value = b'{"n": %d}' % self.sent if self.sent % 2 else key
        self._producer.produce(self._topic, value, key, on_delivery=self._on_delivery)
        self._producer.poll(0)
        self.sent += 1

    def _on_delivery(self, error: object, _: object) -> None:
        if error:
            self.failed.append(error)


def table_rows(delta: DeltaTable) -> list[Row]:
    """In the order of commits, and within one as its files hold them."""
    rows: list[Row] = []
    for version in range(1, delta.version() + 1):
        for batch in delta.load_cdf(version, version):
            names = ("topic", "partition", "offset", "value")
            columns = [batch.column(name).to_pylist() for name in names]
            rows += [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
    return rows


def broker_ends(site: RunningSite, topic: str) -> dict[int, int]:
    consumer = Consumer({**site.settings("app"), "group.id": "app-test"})
    try:
        parts = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        return {
            p: consumer.get_watermark_offsets(TopicPartition(topic, p), timeout=10)[1]
            for p in parts
        }
    finally:
        consumer.close()


@pytest.mark.timeout(600)
def test_kills_leave_every_record_once_and_in_order(
    site: RunningSite, new_driver: NewDriver, full: bool
) -> None:
    """Takes more than a minute: a driver starts after each kill."""
    driver = new_driver("kills", refine=NUMBERS)
    # Between two commits the JVM dies in every run, and once both do.
    at_any_moment = (kill_jvm, kill_both) if full else ()
    assert_survives_kills(site, driver, (kill_python, *at_any_moment))
    assert_no_secret(site, driver)


def assert_each_refined_once(driver: IngestDriver, ends: dict[int, int]) -> None:
    refined = [offsets_in(driver, layer) for layer in ("silver", "quarantine")]
    assert sorted(refined[0] + refined[1]) == [(p, n) for p in ends for n in range(ends[p])]
    assert all(refined)


def offsets_in(driver: IngestDriver, layer: str) -> list[tuple[int, int]]:
    delta = open_table(getattr(driver.job.tables, layer), driver.job.engine.bucket)
    table = QueryBuilder().register("t", delta)
    batches = table.execute('SELECT "partition", "offset" FROM t')
    return [row for b in batches for row in zip(*(c.to_pylist() for c in b.columns), strict=True)]


def assert_survives_kills(
    site: RunningSite, driver: IngestDriver, kills: Sequence[Callable[[IngestDriver], None]]
) -> None:
    """These, and one between each two commits of a batch."""
    topic = driver.job.id
    with Producing(site, topic) as producing:
        kill_torn(driver, "bronze", kill_jvm_now)
        for kill in kills:
            kill(driver)
        kill_torn(driver, "silver")
    driver.start()
    wait_until(lambda: driver.delta.count() >= producing.sent, START_TIMEOUT_S)
    assert driver.stop() == 0
    ends = broker_ends(site, topic)
    assert_each_once(table_rows(driver.delta), producing.sent, ends)
    assert_each_refined_once(driver, ends)


def kill_torn(
    driver: IngestDriver,
    layer: str,
    kill_now: Callable[[IngestDriver], None] = IngestDriver.kill_all,
) -> None:
    """Between two commits of one batch."""
    start_and_await_batches(driver, 0)
    assert driver.stop_between_commits(layer)
    kill_now(driver)


def kill_jvm(driver: IngestDriver) -> None:
    start_and_await_batches(driver, 1)
    kill_jvm_now(driver)


def kill_jvm_now(driver: IngestDriver) -> None:
    driver.signal_jvm(signal.SIGKILL)
    assert driver.wait() == 137
    beat = driver.beat()
    assert beat
    assert (beat.phase, "137" in beat.error) == (Phase.FAILED, True)


def kill_python(driver: IngestDriver) -> None:
    start_and_await_batches(driver, 1)
    jvm = driver.jvm
    assert driver.process
    driver.process.kill()
    jvm.wait(20)
    driver.wait()


def kill_both(driver: IngestDriver) -> None:
    start_and_await_batches(driver, 0)
    driver.kill_all()


def start_and_await_batches(driver: IngestDriver, count: int) -> None:
    before = driver.checkpoint.last_commit()
    driver.start()
    wait_until(driver.is_running, START_TIMEOUT_S)
    wait_until(lambda: driver.checkpoint.last_commit() >= before + count, START_TIMEOUT_S)


def assert_each_once(rows: list[Row], sent: int, ends: dict[int, int]) -> None:
    offsets: dict[int, list[int]] = defaultdict(list)
    for row in rows:
        offsets[row["partition"]].append(row["offset"])
    assert {part: list(range(end)) for part, end in ends.items()} == dict(offsets)
    assert sorted(int(row["value"].strip(b'{"n: }')) for row in rows) == list(range(sent))


def assert_no_secret(site: RunningSite, driver: IngestDriver) -> None:
    secret = site.password_of("ingest").encode()
    folders = (
        Path(driver.job.mailbox),
        Path(driver.job.inputs[0].checkpoint),
        driver.table,
    )
    shown = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    assert driver.log_file in shown
    assert [file for file in shown if secret in file.read_bytes()] == []


def test_a_running_job_tells_its_lag_survives_a_dead_site_and_stops_whole(
    site: RunningSite, new_driver: NewDriver
) -> None:
    driver = new_driver("steady")
    away = site_away(driver.job.inputs[0])
    driver.job = driver.job.model_copy(update={"inputs": (driver.job.inputs[0], away)})
    site.produce("app", driver.job.id, [(b"k", b"0")])
    driver.start()
    wait_until(lambda: driver.delta.count() == 1, START_TIMEOUT_S)
    wait_until(lambda: (beat := driver.site_beat("away")) is not None and not beat.reachable)
    assert driver.is_running()
    assert_lag_is_the_brokers(site, driver)
    assert_stops_whole_under_load(site, driver)


def site_away(near: SiteInput) -> SiteInput:
    bootstrap = {"bootstrap.servers": f"127.0.0.1:{free_ports(1)}"}
    changes = {
        "site": "away",
        "kafka": {**near.kafka, **bootstrap},
        "librdkafka": {**near.librdkafka, **bootstrap},
        "checkpoint": str(Path(near.checkpoint).with_name("away")),
    }
    return near.model_copy(update=changes)


def assert_lag_is_the_brokers(site: RunningSite, driver: IngestDriver) -> None:
    def lag() -> int:
        beat = driver.site_beat(site.spec.name)
        return beat.lag_records if beat else -1

    wait_until(lambda: lag() == 0)
    driver.signal_jvm(signal.SIGSTOP)
    sent_at = datetime.now(UTC)
    site.produce("app", driver.job.id, [(str(i).encode(), b"late") for i in range(20)])
    wait_until(lambda: lag() == sum(broker_ends(site, driver.job.id).values()) - 1 == 20)
    wait_until(lambda: oldest_waiting(driver, site) is not None)
    oldest = oldest_waiting(driver, site)
    driver.signal_jvm(signal.SIGCONT)
    assert oldest is not None
    assert abs((oldest - sent_at).total_seconds()) < 2
    wait_until(lambda: lag() == 0)


def oldest_waiting(driver: IngestDriver, site: RunningSite) -> datetime | None:
    beat = driver.site_beat(site.spec.name)
    times = [p.oldest_waiting for p in beat.partitions if p.records] if beat else []
    return min((t for t in times if t), default=None) if times and all(times) else None


def assert_stops_whole_under_load(site: RunningSite, driver: IngestDriver) -> None:
    with Producing(site, driver.job.id):
        before = driver.checkpoint.last_commit()
        wait_until(lambda: driver.checkpoint.last_commit() > before + 1)
        began_s = time.monotonic()
        assert driver.stop() == 0
        assert time.monotonic() - began_s < 15
    beat = driver.beat()
    assert beat
    assert beat.phase is Phase.STOPPED
    assert driver.checkpoint.last_planned() == driver.checkpoint.last_commit()
    ends = driver.checkpoint.offsets(driver.checkpoint.last_commit())
    assert driver.delta.count() == sum(ends.values())


def test_a_newer_generation_ends_the_older_before_it_writes(
    site: RunningSite, new_driver: NewDriver
) -> None:
    driver = new_driver("fenced")
    driver.start()
    wait_until(driver.is_running, START_TIMEOUT_S)
    assert claim(driver.job.generations_dir, driver.job.generation + 1)
    site.produce("app", driver.job.id, [(b"k", b"too late")])
    assert driver.wait() == 0
    beat = driver.beat()
    assert beat
    assert beat.phase is Phase.FENCED
    assert driver.delta.count() == 0
    driver.start()  # the generation that was claimed above
    assert driver.wait() == 0
    assert "is taken" in driver.log_file.read_text()
