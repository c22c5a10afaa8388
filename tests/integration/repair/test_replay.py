"""Replay and verify beside a running stream, on a topic with transactions.

One job serves all of these tests, in their order; each mends what it breaks.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from deltalake import DeltaTable

from millrace.base.ranges import Range
from millrace.ingest.core.ingest_plan import plan_ingest
from millrace.lake.core.columns import Column
from millrace.lake.core.refine import RefineSpec
from millrace.lake.io.follow import read_new_rows
from millrace.lake.io.tables import ensure_bronze
from millrace.repair.core.alarms import Alarm, AlarmKind
from millrace.repair.core.replay_spec import ReplayRequest, ReplayResult, ReplaySpec
from millrace.repair.core.verify_spec import ContinuityResult, ContinuitySpec
from tests.integration.conftest import TEMPERATURE, RunningSite
from tests.integration.ingest.test_ingest_faults import take_any_time
from tests.integration.stands.lake.ingest_driver import START_TIMEOUT_S, IngestDriver
from tests.integration.stands.lake.lake import Lake
from tests.support import wait_until

REPLAY, VERIFY = "spark_jobs.repair.replay:replay", "spark_jobs.repair.continuity:verify"
TOPIC = "replayed"
V = Column(name="v", type="bigint", path=("v",), required=True)


@dataclass
class World:
    site: RunningSite
    driver: IngestDriver
    lake: Lake
    folder: Path

    def replay(self, **asked: object) -> ReplayResult:
        return self.lake.work(REPLAY, self.task(**asked), ReplayResult)

    def task(self, **asked: object) -> ReplaySpec:
        job = self.driver.job
        return ReplaySpec(
            pipeline=TOPIC,
            engine=job.engine,
            tables=job.tables,
            folder=self.folder,
            inputs=job.inputs,
            refine=job.refine,
        ).model_copy(update=asked)

    def verify(self) -> ContinuityResult:
        task = ContinuitySpec(
            **self.task().model_dump(include={"pipeline", "engine", "tables", "folder", "inputs"}),
            is_refined=True,
        )
        return self.lake.work(VERIFY, task, ContinuityResult)

    def delete(self, layer: str, where: str) -> None:
        self.lake.sql(f"DELETE FROM delta.`{getattr(self.driver.job.tables, layer)}` WHERE {where}")  # noqa: S608 - a table of this test

    @property
    def bronze(self) -> DeltaTable:
        return DeltaTable(self.driver.job.tables.bronze)


@pytest.fixture(scope="module")
def world(
    site: RunningSite, lake: Lake, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("lake")
    pipeline = TEMPERATURE.model_copy(update={"name": TOPIC, "topics": (TOPIC,), "table": TOPIC})
    site.add_topic(TOPIC)
    refine = RefineSpec(format="json", columns=(V,))
    job = plan_ingest(pipeline, [site.spec], site.layout, refine)
    # Batches that end in the middle of what was fetched, and not so many that a replay beside
    # them has no time to work.
    small = {"trigger_s": 1.0, "rows_per_batch": 50}
    driver = IngestDriver(job.model_copy(update=small))
    ensure_bronze(job.tables.bronze)
    produce_with_transactions(site)
    driver.start()
    try:
        wait_until(
            lambda: driver.is_running() and driver.checkpoint.last_commit() >= 0,
            2 * START_TIMEOUT_S,
        )
        yield World(site, driver, lake, folder)
    finally:
        driver.clean_up()


def message(number: int) -> bytes:
    """Every tenth is one for quarantine."""
    return json.dumps({"v": number if number % 10 else "ten"}).encode()


def produce_with_transactions(site: RunningSite) -> None:
    """In both partitions: 40 records, a marker, 5 aborted ones, a marker, 40 records, a marker."""
    producer = Producer({**site.settings("app"), "transactional.id": "app-replay-test"})
    producer.init_transactions(20)
    for count, commit in ((40, True), (5, False), (40, True)):
        producer.begin_transaction()
        for number in range(count):
            key = None if number % 3 else b"k"
            headers = [("number", b"%d" % number), ("none", None)] if key else []
            for partition in (0, 1):
                producer.produce(TOPIC, message(number), key, partition, headers=headers)
        producer.flush(20)
        (producer.commit_transaction if commit else producer.abort_transaction)(20)


class Load:
    """Messages without end, until told to stop; a few, so that a slow machine keeps up."""

    def __init__(self, site: RunningSite) -> None:
        self._producer = Producer(site.settings("app"))
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()
        assert self._producer.flush(30) == 0

    def _run(self) -> None:
        while not self._stopped.wait(0.5):
            for number in range(5):
                self._producer.produce(TOPIC, message(number), str(number).encode())
            self._producer.poll(0)


def named(alarms: tuple[Alarm, ...]) -> dict[str, tuple[Range, ...]]:
    return {alarm.name: alarm.ranges for alarm in alarms}


def one(first: int, last: int) -> tuple[Range, ...]:
    return (Range(first=first, last=last),)


def test_records_are_those_that_sparks_own_source_gives(world: World) -> None:
    world.lake.begin("tests.integration.stands.edge.kafka_readers:compare", world.task())
    found = world.lake.answer()
    assert found["rows"] == [40, 40, 16, 0, 74, 0]
    assert (found["only_ours"], found["only_sparks"]) == (0, 0)
    assert found["in_order"]


def test_markers_and_aborted_records_are_no_loss(world: World) -> None:
    result = world.verify()
    assert result.alarms == ()
    # A marker, five aborted records and their marker; the last marker comes after the last record.
    assert {part.empty[0] for part in result.parts} == set(one(40, 46))
    assert [part.rows for part in result.parts] == [80, 80]


def test_what_is_missing_comes_back_and_nothing_else_changes(world: World) -> None:
    """Takes more than a minute on a busy machine: five tasks, three of them beside a load."""
    world.delete("bronze", "partition = 0 AND (offset BETWEEN 10 AND 19 OR offset = 25)")
    world.delete("silver", "offset BETWEEN 14 AND 16")
    found = named(world.verify().alarms)
    missing = (*one(10, 19), *one(25, 25))
    subject = f"{world.site.spec.name}/{TOPIC}"
    assert found[f"{AlarmKind.MISSING}:{subject}-0"] == missing
    assert found[f"{AlarmKind.UNREFINED}:{subject}-1"] == one(14, 16)
    before = world.bronze.version()
    with Load(world.site):
        dry = world.replay(dry_run=True)
        assert [part.missing_bronze for part in dry.parts] == [missing, ()]
        result = world.replay()
        assert result.is_complete
        assert result.added == {"bronze": 11, "silver": 6, "quarantine": 0}
        assert world.replay().added == {}
    wait_until(lambda: not waiting(world), 180)
    assert world.verify().alarms == ()
    again = [(row["partition"], row["offset"]) for row in tailed(world, before)]
    assert sorted(o for p, o in again if (p, o) < (0, 40)) == [*range(10, 20), 25]
    assert len(again) == len(set(again)), "tail showed a row twice"


def tailed(world: World, since: int) -> list[dict[str, int]]:
    table = DeltaTable(world.driver.job.tables.bronze, version=since)
    return list(read_new_rows(table, since))


def waiting(world: World) -> int:
    beat = world.driver.site_beat(world.site.spec.name)
    assert beat
    return sum(part.end - part.position for part in beat.partitions)


def test_two_at_once_add_a_row_once_and_a_killed_one_breaks_nothing(world: World) -> None:
    lost = "partition = 1 AND offset < 30"
    folder = Path(world.driver.job.tables.bronze)
    other = Lake.start(world.folder / "other.log")
    try:
        world.delete("bronze", lost)
        other.begin(REPLAY, world.task())
        ours, theirs = world.replay(), other.end(ReplayResult)
        assert ours.added.get("bronze", 0) + theirs.added.get("bronze", 0) == 30

        world.delete("bronze", lost)
        files = set(folder.rglob("*.parquet"))
        other.begin(REPLAY, world.task())
        # It writes what it is not going to commit.
        wait_until(lambda: set(folder.rglob("*.parquet")) > files, 240)
    finally:
        other.kill()
    world.replay()
    assert world.verify().alarms == ()


def test_a_time_beyond_sparks_own_reader_is_named_and_replayed_by_millraces(world: World) -> None:
    take_any_time(world.site, TOPIC)
    far = {"partition": 1, "offset": produce_at(world.site, 2**62)}
    where = " AND ".join(f"{name} = {number}" for name, number in far.items())
    bronze = world.driver.job.tables.bronze
    count = f"SELECT count(*) AS n FROM delta.`{bronze}` WHERE {where}"  # noqa: S608 - a table of this test
    wait_until(lambda: world.lake.sql(count)[0]["n"] == 1, 60)
    world.delete("bronze", where)
    record = f"partition 1, offset {far['offset']} has the time {2**62}"
    world.lake.sql("SET spark.millrace.reader=kafka")
    try:
        for work in (world.verify, world.replay):
            with pytest.raises(AssertionError) as caught:
                work()
            reason = str(caught.value).strip().splitlines()[-1]
            site = world.site.spec.name
            words = f"'{TOPIC}'", f"site '{site}'", f"topic '{TOPIC}'", record, "reader: millrace"
            assert [word for word in words if word not in reason] == [], reason
    finally:
        world.lake.sql("SET spark.millrace.reader=millrace.kafka.Source")
    assert world.replay().added["bronze"] == 1
    assert world.verify().alarms == ()


def produce_at(site: RunningSite, time_ms: int) -> int:
    """Returns the record's offset."""
    offsets: list[int] = []
    producer = Producer(site.settings("app"))

    def on_delivery(_: object, record: Message) -> None:
        offsets.append(record.offset() or 0)

    producer.produce(TOPIC, message(1), partition=1, timestamp=time_ms, on_delivery=on_delivery)
    assert producer.flush(30) == 0
    return offsets[0]


def test_what_the_broker_has_deleted_is_named_and_the_rest_is_done(world: World) -> None:
    admin = AdminClient(world.site.admin)
    for future in admin.delete_records([TopicPartition(TOPIC, 0, 30)]).values():
        future.result(10)
    world.delete("bronze", "partition = 0 AND offset BETWEEN 26 AND 33")
    asked = {"asked": ReplayRequest(first=0, last=39), "partitions": (0,)}
    result = world.replay(**asked)
    (part,) = result.parts
    assert part.gone == one(26, 29)
    assert not result.is_complete
    assert result.added["bronze"] == 4
    (state, _) = world.verify().parts
    assert state.unproven == one(26, 29)
