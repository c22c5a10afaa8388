"""What a job's heartbeat says of partitions, beside a real broker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest
from confluent_kafka import Message, Producer

from millrace.ingest.core.ingest_beat import IngestBeat
from millrace.ingest.core.lag import Throughput
from millrace.ingest.io.checkpoint import Checkpoint
from millrace.jobs.core.heartbeat import PartitionLag, Phase
from spark_jobs.engine.heartbeat_writer import HeartbeatWriter
from spark_jobs.ingest.query_watch import SiteWatch
from spark_jobs.kafka.broker_view import Broker
from tests.integration.conftest import NewDriver, RunningSite
from tests.support import wait_until

TOPIC = "newest"


@pytest.fixture
def parts(new_driver: NewDriver) -> Iterator[Callable[[], list[PartitionLag]]]:
    """Of a site's watch; no job is needed."""
    (site,) = new_driver(TOPIC).job.inputs
    watch = SiteWatch(
        site=site.site,
        broker=Broker(site, group=f"millrace-{TOPIC}-watch"),
        checkpoint=Checkpoint(site.checkpoint, None),
        throughput=Throughput(window_s=10),
        interval_s=0.1,
        newest_interval_s=0.2,
    )
    watch.start()
    yield lambda: list(watch.beat().partitions)
    watch.stop()


def test_a_partitions_newest_message_has_its_time(
    site: RunningSite, parts: Callable[[], list[PartitionLag]]
) -> None:
    wait_until(lambda: len(parts()) == 2)
    producer = Producer({**site.settings("app"), "transactional.id": "app-newest"})
    producer.init_transactions(20)
    for count in (1, 9):
        at = transact(producer, count)
        wait_until(lambda at=at: newest(parts()) == [at, None])
    # An aborted record and its marker follow; both are nobody's message.
    transact(producer, 1, commit=False)
    at = transact(producer, 1)
    wait_until(lambda: newest(parts()) == [at, None])
    transact(producer, 1, commit=False)
    wait_until(lambda: parts()[0].end == 18)
    assert newest(parts()) == [at, None]


def test_no_partitions_time_is_missed_beside_another(
    site: RunningSite, new_driver: NewDriver
) -> None:
    """The light client's queue is full at each look."""
    name = "side-by-side"
    broker = Broker(new_driver(name).job.inputs[0], group=f"millrace-{name}-watch")
    for _ in range(5):
        fill(Producer(site.settings("app")), name)
        ends = {part: held.high for part, held in broker.bounds().items()}
        assert broker.newest_times(ends).keys() == ends.keys()
        assert broker.times_at({part: end - 50 for part, end in ends.items()}).keys() == ends.keys()
    broker.close()


def test_a_heartbeat_goes_on_while_a_jvm_takes_minutes_to_start(new_driver: NewDriver) -> None:
    driver = new_driver(TOPIC)
    now_s = 0.0
    heartbeats = HeartbeatWriter(
        driver.job, lambda common: IngestBeat(**dict(common)), clock_s=lambda: now_s
    )
    heartbeats.say(Phase.STARTING)
    first = driver.mailbox.read_heartbeat(IngestBeat)
    now_s = 240.0
    heartbeats.start()
    wait_until(lambda: driver.mailbox.read_heartbeat(IngestBeat) != first)
    heartbeats.stop()


def newest(parts: list[PartitionLag]) -> list[datetime | None]:
    return [part.newest_at for part in parts]


def fill(producer: Producer, topic: str) -> None:
    """Of several batches in each partition."""
    for _ in range(6):
        for number in range(20):
            producer.produce(topic, b"x" * 200, partition=number % 2)
        producer.flush(20)


def transact(producer: Producer, count: int, *, commit: bool = True) -> datetime:
    """The last record's time, as its broker keeps it."""
    sent: list[Message] = []
    producer.begin_transaction()
    for number in range(count):
        producer.produce(
            TOPIC, b"%d" % number, on_delivery=lambda _, m: sent.append(m), partition=0
        )
    producer.flush(20)
    (producer.commit_transaction if commit else producer.abort_transaction)(20)
    _, milliseconds = sent[-1].timestamp()
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
