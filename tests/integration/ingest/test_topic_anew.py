"""A topic that was deleted and made again under its old name: all of both is kept, each by itself.

One job of several topics serves all of these tests, in their order.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import TableNotFoundError

from millrace.gateway.spool.core.message_identity import Identity
from millrace.ingest.core.ingest_plan import plan_ingest
from millrace.lake.io.tables import ensure_bronze
from millrace.repair.core.replay_spec import ReplayResult, ReplaySpec
from millrace.repair.core.verify_spec import ContinuityResult, ContinuitySpec
from tests.integration.conftest import TEMPERATURE, RunningSite
from tests.integration.ingest.test_exactly_once import NUMBERS
from tests.integration.stands.lake.ingest_driver import START_TIMEOUT_S, IngestDriver
from tests.integration.stands.lake.lake import Lake
from tests.support import wait_until

NAME = "anew"
SHORTER, LONGER, BESIDE, SAME = TOPICS = tuple(
    f"{NAME}-{which}" for which in ("shorter", "longer", "beside", "same")
)


@dataclass
class World:
    site: RunningSite
    driver: IngestDriver
    lake: Lake
    folder: Path

    def send(self, topic: str, numbers: Iterable[int]) -> None:
        """Each named as a gateway would, so that it is known again wherever it comes."""
        identity = Identity("plant-t", "lines", topic)
        producer = Producer(self.site.settings("app"))
        for number in numbers:
            value = b'{"n": %d}' % number
            producer.produce(topic, value, b"%d" % number, headers=identity.headers(1, number))
        assert producer.flush(30) == 0

    def make_anew(self, *topics: str) -> None:
        admin = AdminClient(self.site.admin)
        for future in admin.delete_topics(list(topics)).values():
            future.result(15)
        wait_until(lambda: not {*topics} & admin.list_topics(timeout=10).topics.keys())
        for topic in topics:
            self.site.add_topic(topic)

    def numbers(self, layer: str, topic: str) -> Counter[int]:
        """What was sent, by its number."""
        try:
            table = DeltaTable(getattr(self.driver.job.tables, layer))
        except TableNotFoundError:  # its job makes it when it starts
            return Counter()
        named = "n" if layer == "silver" else "CAST(key AS VARCHAR)"
        query = f"SELECT {named} AS number FROM t WHERE topic = '{topic}'"  # noqa: S608 - of this test
        found = QueryBuilder().register("t", table).execute(query)
        return Counter(int(n) for batch in found for n in batch.column(0).to_pylist())

    def await_rows(self, topic: str, sent: int, twins: int = 0) -> None:
        """All that was sent is in all tables; twins have numbers that were sent before."""

        def has_all() -> bool:
            assert self.driver.process
            assert self.driver.process.poll() is None, self.driver.log_file.read_text()[-3000:]
            silver, quarantine = (self.numbers(layer, topic) for layer in ("silver", "quarantine"))
            return (silver.total(), quarantine.total()) == (sent - twins, twins)

        wait_until(has_all, START_TIMEOUT_S, f"all {sent} of {topic}")
        bronze, silver = self.numbers("bronze", topic), self.numbers("silver", topic)
        assert bronze.total() == sent
        assert set(silver.values()) == {1}
        assert silver.keys() == bronze.keys()

    def task(self, model: type[ContinuitySpec | ReplaySpec], **more: Any) -> Any:
        job = self.driver.job
        return model(
            pipeline=NAME,
            engine=job.engine,
            tables=job.tables,
            folder=self.folder,
            inputs=job.inputs,
            **more,
        )

    def verify(self) -> ContinuityResult:
        task = self.task(ContinuitySpec, is_refined=True)
        return self.lake.work("spark_jobs.repair.continuity:verify", task, ContinuityResult)

    def replay(self, **asked: Any) -> ReplayResult:
        task = self.task(ReplaySpec, refine=self.driver.job.refine, **asked)
        return self.lake.work("spark_jobs.repair.replay:replay", task, ReplayResult)

    def ids(self, topic: str) -> list[str]:
        """Of its incarnations, the oldest first."""
        return [one.id for one in self.driver.checkpoint.histories().topics[topic]]


@pytest.fixture(scope="module")
def world(
    site: RunningSite, lake: Lake, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("anew")
    pipeline = TEMPERATURE.model_copy(update={"name": NAME, "topics": TOPICS, "table": NAME})
    for topic in TOPICS:
        site.add_topic(topic)
    job = plan_ingest(pipeline, [site.spec], site.layout, NUMBERS)
    driver = IngestDriver(job.model_copy(update={"trigger_s": 0.5}))
    ensure_bronze(job.tables.bronze)
    world = World(site, driver, lake, folder)
    for topic in TOPICS:
        world.send(topic, range(40))
    driver.start()
    try:
        for topic in TOPICS:
            world.await_rows(topic, 40)
        yield world
    finally:
        driver.clean_up()


@pytest.mark.timeout(600)
def test_topics_made_anew_while_the_job_is_down_are_read_from_their_beginning(
    world: World,
) -> None:
    assert world.driver.stop() == 0
    world.make_anew(SHORTER, LONGER)
    # Some were sent before: a gateway looks for them at the end of the topic, and finds nothing.
    world.send(SHORTER, range(30, 50))
    world.send(LONGER, range(40, 300))
    world.driver.start()
    world.await_rows(SHORTER, 60, twins=10)
    world.await_rows(LONGER, 300)
    assert world.verify().alarms == ()


def test_a_topic_made_anew_beneath_the_running_job_is_read_from_its_beginning(
    world: World,
) -> None:
    world.make_anew(BESIDE)
    world.send(BESIDE, range(40, 50))
    world.await_rows(BESIDE, 50)
    world.make_anew(BESIDE)
    world.send(BESIDE, range(50, 150))
    world.await_rows(BESIDE, 150)
    assert len(world.ids(BESIDE)) == 3
    assert world.driver.is_running()
    beat = world.driver.site_beat(world.site.spec.name)
    assert beat
    assert {part.topic for part in beat.partitions} == {*TOPICS}
    assert world.verify().alarms == ()


def test_a_topic_made_anew_that_ends_where_the_former_was_read_to_is_found(world: World) -> None:
    """No batch would begin there before the next record, and none comes."""
    before, lives = world.numbers("bronze", BESIDE).total(), len(world.ids(BESIDE))
    same = [int(key or 0) for key, _ in world.site.consume("app", BESIDE)]
    # The moment without a topic would end the query, which is not to see it.
    jvm = world.driver.jvm
    jvm.suspend()
    try:
        world.make_anew(BESIDE)
        world.send(BESIDE, same)
    finally:
        jvm.resume()
    world.await_rows(BESIDE, before + len(same), twins=len(same))
    assert len(world.ids(BESIDE)) == lives + 1
    assert world.driver.is_running()
    assert world.verify().alarms == ()


def test_a_batch_in_bronze_alone_is_finished_though_its_topic_is_gone(world: World) -> None:
    world.send(SAME, range(40, 60))
    assert world.driver.stop_between_commits("silver")
    world.driver.kill_all()
    world.make_anew(SAME)
    world.send(SAME, range(60, 70))
    world.driver.start()
    world.await_rows(SAME, 70)
    assert len(world.ids(SAME)) == 2
    assert world.verify().alarms == ()


@pytest.mark.timeout(600)
def test_a_broker_restored_to_an_older_state_is_read_on_from_where_histories_part(
    world: World,
) -> None:
    """Of one topic: its records up to a backup, then others under offsets that were read.

    Takes more than a minute on a busy machine: the broker starts twice, and the job after it.
    """
    folders = {n: _log_folder(world.site) / f"{SAME}-{n}" for n in (0, 1)}
    read = len(world.numbers("bronze", SAME))
    world.site.stop()
    for folder in folders.values():
        shutil.copytree(folder, world.folder / folder.name)
    world.site.come_back()
    world.send(SAME, range(1_000, 1_040))
    world.await_rows(SAME, read + 40)
    assert world.driver.stop() == 0

    world.site.stop()
    for folder in folders.values():
        shutil.rmtree(folder)
        shutil.copytree(world.folder / folder.name, folder)
    world.site.come_back()
    # More than were read of those that are gone: offsets alone would not show it.
    world.send(SAME, range(2_000, 2_200))
    world.driver.start()
    world.await_rows(SAME, read + 240)
    assert world.ids(SAME)[-1] == f"{world.ids(SAME)[-2]}~1"
    assert [a for a in world.verify().alarms if SAME in a.subject and a.kind != "sequence"] == []


def _log_folder(site: RunningSite) -> Path:
    (found,) = {folder.parent for folder in site.layout.var.rglob(f"{SAME}-0")}
    return found


def test_nothing_of_a_topic_is_taken_for_a_row_of_the_former_one(world: World) -> None:
    former, now = world.ids(LONGER)
    bronze = world.driver.job.tables.bronze
    where = f"topic_id = '{former}' AND partition = 0 AND offset BETWEEN 2 AND 3"
    world.lake.sql(f"DELETE FROM delta.`{bronze}` WHERE {where}")  # noqa: S608 - of this test
    assert world.replay().added == {}
    part = f"{world.site.spec.name}/{LONGER}-0 ({former})"
    producer = f"sequence:plant-t/plant-t/lines/{LONGER}/1"
    alarms = {a.name: a.command for a in world.verify().alarms if LONGER in a.name}
    # No command brings them back: the broker has another topic.
    assert alarms == dict.fromkeys((f"lost:{part}", f"orphaned:{part}", producer))

    where = f"topic_id = '{now}' AND partition = 0 AND offset BETWEEN 2 AND 3"
    world.lake.sql(f"DELETE FROM delta.`{bronze}` WHERE {where}")  # noqa: S608 - of this test
    assert world.replay().added["bronze"] == 2
    states = {one.topic_id: one for one in world.verify().parts if one.topic == LONGER}
    assert states.keys() == {"", former}
    assert world.driver.stop() == 0
