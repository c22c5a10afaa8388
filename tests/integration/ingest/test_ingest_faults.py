"""What only a person can put right ends the job, which says what it is; nothing is skipped."""

from __future__ import annotations

import random
import resource
import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
)
from deltalake import DeltaTable

from millrace.ingest.core.ingest_spec import SiteInput
from millrace.jobs.core.heartbeat import Phase
from tests.integration.conftest import NewDriver, RunningSite
from tests.integration.ingest.test_exactly_once import NUMBERS, offsets_in
from tests.integration.stands.lake.ingest_driver import START_TIMEOUT_S, IngestDriver
from tests.support import wait_until


def records(count: int) -> list[tuple[bytes | None, bytes | None]]:
    return [(str(number).encode(), b"v") for number in range(count)]


def row_count(driver: IngestDriver) -> int:
    return DeltaTable(str(driver.table)).count()


def last_words(driver: IngestDriver, hinder: Callable[[], None] = lambda: None) -> str:
    """Of a job that is started and has to fail."""
    driver.start()
    hinder()
    assert driver.wait(START_TIMEOUT_S) == 1
    beat = driver.beat()
    assert beat
    assert beat.phase is Phase.FAILED
    return beat.error


def change_input(driver: IngestDriver, **changes: object) -> None:
    (only,) = driver.job.inputs
    changed = only.model_copy(update=changes)
    driver.job = driver.job.model_copy(update={"inputs": (changed,)})


def with_secret(near: SiteInput, file: Path) -> SiteInput:
    moved = {
        key: text.replace(str(near.secret_file), str(file)) for key, text in near.kafka.items()
    }
    return near.model_copy(update={"secret_file": file, "kafka": moved})


def test_offsets_that_the_broker_forgot_stop_the_job_with_their_span(
    site: RunningSite, new_driver: NewDriver
) -> None:
    driver = new_driver("forgotten", refine=NUMBERS)
    site.produce("app", "forgotten", records(10))
    driver.start()
    wait_until(lambda: row_count(driver) == 10, START_TIMEOUT_S)
    assert driver.stop() == 0
    read = driver.checkpoint.offsets(driver.checkpoint.last_commit())

    site.produce("app", "forgotten", records(10))
    gone = [TopicPartition(topic, part, offset + 1) for (topic, part), offset in read.items()]
    admin = AdminClient(site.admin)
    for future in admin.delete_records(gone).values():
        future.result(10)

    words = last_words(driver)
    assert "no longer has offsets" in words
    assert any(f"forgotten-{part}" in words for _, part in read), words
    assert row_count(driver) == 10

    # As the words advise.
    shutil.rmtree(driver.job.inputs[0].checkpoint)
    left = 20 - len(gone)
    driver.start()
    wait_until(lambda: row_count(driver) == left, START_TIMEOUT_S)
    assert driver.stop() == 0
    assert len(set(offsets_in(driver, "bronze"))) == left
    assert sorted(offsets_in(driver, "quarantine")) == sorted(offsets_in(driver, "bronze"))


def test_a_site_that_lost_records_is_halted_and_its_neighbour_reads_on(
    site: RunningSite, new_driver: NewDriver
) -> None:
    driver = new_driver("healthy")
    site.add_topic("shortened", partitions=1)
    (healthy,) = driver.job.inputs
    checkpoint = f"{healthy.checkpoint}-shortened"
    other = {"site": "plant-b", "topics": ("shortened",), "checkpoint": checkpoint}
    inputs = (healthy, healthy.model_copy(update=other))
    driver.job = driver.job.model_copy(update={"inputs": inputs})
    for topic in ("healthy", "shortened"):
        site.produce("app", topic, records(10))
    driver.start()
    wait_until(lambda: row_count(driver) == 20, START_TIMEOUT_S)
    assert driver.stop() == 0

    def halted() -> str:
        beat = driver.site_beat("plant-b")
        return beat.halted if beat else ""

    site.produce("app", "shortened", records(10))
    admin = AdminClient(site.admin)
    for future in admin.delete_records([TopicPartition("shortened", 0, 12)]).values():
        future.result(10)
    driver.start()
    wait_until(lambda: "no longer has offsets" in halted(), START_TIMEOUT_S)
    site.produce("app", "healthy", records(10))
    wait_until(lambda: row_count(driver) == 30, 60)
    assert driver.is_running()
    healthy_beat = driver.site_beat(healthy.site)
    assert healthy_beat
    assert not healthy_beat.halted

    # As the reason advises; nobody touches the job.
    shutil.rmtree(checkpoint)
    wait_until(lambda: row_count(driver) == 38, 60)
    wait_until(lambda: not halted(), 60)
    assert driver.stop() == 0


def test_a_time_beyond_sparks_own_reader_is_named_and_read_by_millraces(
    site: RunningSite, new_driver: NewDriver
) -> None:
    driver = new_driver("far-time", refine=NUMBERS)
    take_any_time(site, "far-time")
    read_by(driver, "spark")
    producer = Producer(site.settings("app"))
    for number, time_ms in enumerate((NOW_MS, YEAR_3000_MS, 2**62, NOW_MS)):
        producer.produce("far-time", b'{"n": %d}' % number, partition=1, timestamp=time_ms)
    assert producer.flush(30) == 0
    reason = last_words(driver)
    assert f"topic 'far-time', partition 1, offset 2 has the time {2**62}" in reason
    assert "reader: millrace" in reason
    assert row_count(driver) == 0
    read_by(driver, "millrace")
    driver.start()
    wait_until(lambda: row_count(driver) == 4, START_TIMEOUT_S)
    assert driver.stop() == 0
    assert sorted(offsets_in(driver, "silver")) == [(1, 0), (1, 3)]
    assert sorted(offsets_in(driver, "quarantine")) == [(1, 1), (1, 2)]


NOW_MS = int(time.time() * 1000)
# Unbelievable, and converted by Spark's reader all the same.
YEAR_3000_MS = int(datetime(3000, 1, 1, tzinfo=UTC).timestamp() * 1000)


def take_any_time(site: RunningSite, topic: str) -> None:
    """As a topic that Millrace did not make may."""
    settings = {
        "message.timestamp.type": "CreateTime",
        "message.timestamp.after.max.ms": str(2**63 - 1),
    }
    entries = [
        ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
        for key, value in settings.items()
    ]
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=entries)
    admin = AdminClient(site.admin)
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(10)


def read_by(driver: IngestDriver, reader: Literal["millrace", "spark"]) -> None:
    parts = driver.job.engine.parts.model_copy(update={"reader": reader})
    engine = driver.job.engine.model_copy(update={"parts": parts})
    driver.job = driver.job.model_copy(update={"engine": engine})


def test_what_a_person_must_mend_at_every_site_ends_the_job_which_says_so(
    site: RunningSite, new_driver: NewDriver, tmp_path: Path
) -> None:
    driver = new_driver("unmended")
    (right,) = driver.job.inputs
    wrong = tmp_path / "ingest.properties"
    text = right.secret_file.read_text()
    wrong.write_text(text.replace(site.password_of("ingest"), "not-the-password"))
    admin = AdminClient(site.admin)
    for future in admin.create_topics([NewTopic("private", 1)]).values():
        future.result(10)
    faults = {
        "wrong-password": with_secret(right, wrong),
        "no-right": right.model_copy(update={"topics": ("private",)}),
        "no-secret": with_secret(right, tmp_path / "gone.properties"),
    }
    inputs = tuple(
        one.model_copy(update={"site": name, "checkpoint": f"{one.checkpoint}-{name}"})
        for name, one in faults.items()
    )
    driver.job = driver.job.model_copy(update={"inputs": inputs})
    words = dict(zip(faults, last_words(driver).split("; site "), strict=True))
    assert "refuses user and password" in words["wrong-password"]
    assert "ACLs do not let the user read" in words["no-right"]
    assert "secret is missing" in words["no-secret"]


def test_a_full_disk_ends_the_job_which_says_so_and_loses_nothing(
    site: RunningSite, new_driver: NewDriver
) -> None:
    driver = new_driver("full-disk", refine=NUMBERS)
    incompressible = [(str(n).encode(), random.Random(n).randbytes(500)) for n in range(20_000)]
    site.produce("app", "full-disk", incompressible)

    def allow_files_of(size: int) -> None:
        """The kernel refuses to write more into one file, as it does on a full disk."""
        assert driver.process
        resource.prlimit(driver.process.pid, resource.RLIMIT_FSIZE, (size, -1))

    assert "no room left on the disk" in last_words(driver, lambda: allow_files_of(2**20))
    assert not list(driver.table.rglob("*.parquet"))
    driver.start()
    wait_until(lambda: row_count(driver) == len(incompressible), START_TIMEOUT_S)
    assert driver.stop() == 0
    assert len(offsets_in(driver, "quarantine")) == len(incompressible)


def test_five_hundred_partitions_fit_into_a_small_job(
    site: RunningSite, new_driver: NewDriver
) -> None:
    driver = new_driver("wide")
    site.add_topic("wide", partitions=500)
    change_input(driver, topics=("wide",))
    producer = Producer({**site.settings("app"), "linger.ms": 50})
    for number in range(2_000):
        producer.produce("wide", bytes(1_000), partition=number % 500)
    assert producer.flush(60) == 0
    driver.start()
    wait_until(lambda: row_count(driver) == 2_000, START_TIMEOUT_S)
    site.produce("app", "wide", records(10))
    wait_until(lambda: row_count(driver) == 2_010, 60)
    assert driver.is_running()
    assert driver.job.engine.memory == "768m"
    assert driver.stop() == 0
