"""A site's query whose checkpoint's store is away for a moment goes on; nothing ends the job."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from millrace.base.errors import StoreUnreachableError
from millrace.ingest.core.ingest_faults import Fault, FaultVerdict
from millrace.ingest.io.checkpoint import Checkpoint
from spark_jobs.ingest.site_query import SiteQuery
from spark_jobs.ingest.site_topics import TopicChangedError
from tests.support import wait_until


class FaultyCheckpoint(Checkpoint):
    """Whose store does not answer the next so many questions."""

    faults = 0

    def last_planned(self) -> int:
        self._fail()
        return super().last_planned()

    def last_commit(self) -> int:
        self._fail()
        return super().last_commit()

    def _fail(self) -> None:
        if self.faults:
            self.faults -= 1
            raise StoreUnreachableError("the store does not answer")


@dataclass
class Site:
    """A query of Spark's own ticks, which takes its time with each batch."""

    spark: SparkSession
    folder: Path
    is_other_topic: bool = False
    begun: list[StreamingQuery] = field(default_factory=list)
    finished: list[int] = field(default_factory=list)

    def begin(self) -> StreamingQuery:
        ticks = self.spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
        writer = ticks.writeStream.foreachBatch(lambda _, batch: self.work(batch))
        self.begun.append(writer.option("checkpointLocation", str(self.folder)).start())
        return self.begun[-1]

    def work(self, batch: int) -> None:
        begun_at_s = time.monotonic()
        wait_until(lambda: time.monotonic() - begun_at_s > 0.5)
        self.finished.append(batch)

    def check_topics(self) -> None:
        if self.is_other_topic:
            self.is_other_topic = False
            raise TopicChangedError("topics ['t'] of site 'plant-a'")


@pytest.fixture
def site(spark: SparkSession, tmp_path: Path) -> Iterator[Site]:
    site = Site(spark, tmp_path)
    yield site
    for query in site.begun:
        query.stop()


@pytest.fixture
def checkpoint(site: Site) -> FaultyCheckpoint:
    return FaultyCheckpoint(site.folder)


@pytest.fixture
def query(site: Site, checkpoint: FaultyCheckpoint) -> Iterator[SiteQuery]:
    with ThreadPoolExecutor(1) as pool:
        asked = (lambda: False, site.check_topics, list)
        query = SiteQuery("plant-a", site.begin, checkpoint, (), *asked, pool)
        wait_until(lambda: ensured(query) and site.finished)
        yield query
        query.ask_to_end()
        query.end()


def ensured(query: SiteQuery) -> bool:
    query.ensure(time.monotonic())
    return True


def in_a_batch(checkpoint: Checkpoint) -> bool:
    return checkpoint.last_planned() > checkpoint.last_commit()


def test_a_store_away_while_a_topic_made_anew_is_found_is_tried_again(
    query: SiteQuery, site: Site, checkpoint: FaultyCheckpoint
) -> None:
    query._next_compare_s = 0.0  # noqa: SLF001 - the next comparison is half a minute away
    site.is_other_topic = True
    wait_until(lambda: in_a_batch(checkpoint))
    checkpoint.faults = 3
    wait_until(lambda: ensured(query) and len(site.begun) == 2)
    assert not query.standing.halted
    assert site.begun[0].exception() is None
    planned = checkpoint.last_planned()
    wait_until(lambda: ensured(query) and checkpoint.last_commit() > planned)
    assert site.finished == list(range(len(site.finished))), "a batch was cut off and repeated"


def test_a_store_away_while_a_halted_site_is_looked_at_is_asked_again(
    query: SiteQuery, checkpoint: FaultyCheckpoint
) -> None:
    query.standing.on_fault(Fault(FaultVerdict.HALT, "a person has to look"), time.monotonic())
    checkpoint.faults = 1
    wait_until(lambda: ensured(query) and not checkpoint.faults)
    assert query.standing.halted
    query._next_look_s = 0.0  # noqa: SLF001 - the next look is seconds away
    wait_until(lambda: ensured(query) and not query.standing.halted)


def test_a_store_away_at_the_end_cuts_no_batch_off(
    query: SiteQuery, site: Site, checkpoint: FaultyCheckpoint
) -> None:
    wait_until(lambda: in_a_batch(checkpoint))
    query.ask_to_end()
    checkpoint.faults = 3
    query.end()
    assert checkpoint.faults == 0
    assert not in_a_batch(checkpoint)
    assert not site.begun[0].isActive
