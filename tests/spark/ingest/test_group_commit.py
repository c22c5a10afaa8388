"""Batches of several sites in one version of a table; tests/spark/ingest/test_groups.py has the
laws.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from delta.exceptions.captured import ConcurrentTransactionException, MetadataChangedException
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from spark_jobs.engine.append import Output, Written, WrittenBatch, holds, write
from spark_jobs.engine.java import jvm
from tests.spark.ingest.test_batch import WHOLE, CrashError, make_tables, sink_of, ten_records

COLUMNS = ("n", "day")
Made = Callable[[int], Written]


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> str:
    path = str(tmp_path / "t")
    spark.sql(f"CREATE TABLE delta.`{path}` (n int, day date) USING delta PARTITIONED BY (day)")
    return path


@pytest.fixture
def made(spark: SparkSession, table: str) -> Made:
    """One row, in a file that the table does not know of yet."""
    row = "SELECT {} n, DATE'2026-11-18' day"
    return lambda n: write(spark.sql(row.format(n)), [Output(table, COLUMNS, COLUMNS)])


def brought(written: Written, table: str, batch: WrittenBatch) -> Any:
    return written.java.brought(table, *batch)


def add(spark: SparkSession, table: str, group: list[Any]) -> None:
    """Into one version, as though all of them had come while another commit was under way."""
    jvm(spark).millrace.delta.TableCommits.add(table, group)


def found(spark: SparkSession, table: str) -> list[int]:
    return sorted(row.n for row in spark.read.format("delta").load(table).collect())


def files(table: str) -> set[Path]:
    return set(Path(table).glob("day=*/*.parquet"))


def versions(table: str) -> list[dict[str, int]]:
    """Of each version of the table's log, which writers brought which batch."""
    texts = [file.read_text() for file in sorted(Path(table, "_delta_log").glob("*.json"))]
    logs = [[json.loads(line) for line in text.splitlines()] for text in texts]
    return [{a["txn"]["appId"]: a["txn"]["version"] for a in log if "txn" in a} for log in logs]


def test_sites_share_one_version(spark: SparkSession, table: str, made: Made) -> None:
    group = [brought(made(n), table, WrittenBatch(f"site-{n}", 3)) for n in range(12)]
    add(spark, table, group)
    for one in group:
        one.awaitAnswer()
    assert versions(table) == [{}, {f"site-{n}": 3 for n in range(12)}]
    assert found(spark, table) == list(range(12))
    assert holds(spark, table, WrittenBatch("site-11", 3))
    assert not holds(spark, table, WrittenBatch("site-11", 4))


def test_queries_that_commit_at_the_same_time_share_versions(
    spark: SparkSession, table: str, made: Made
) -> None:
    sites = 12
    ready, begin = [made(n) for n in range(sites)], Barrier(sites)

    def commit(site: int) -> None:
        begin.wait(60)
        ready[site].commit(table, WrittenBatch(f"site-{site}", 0))

    with ThreadPoolExecutor(sites) as pool:
        list(pool.map(commit, range(sites)))
    groups = versions(table)[1:]
    assert len(groups) < sites
    assert Counter(site for group in groups for site in group) == Counter(
        f"site-{n}" for n in range(sites)
    )
    assert found(spark, table) == list(range(sites))


def test_a_batch_of_another_layout_is_refused_alone(
    spark: SparkSession, table: str, made: Made
) -> None:
    old = brought(made(0), table, WrittenBatch("old", 0))
    spark.sql(f"ALTER TABLE delta.`{table}` ADD COLUMNS (more string)")
    good = [brought(made(n), table, WrittenBatch(f"site-{n}", 0)) for n in (1, 2)]
    add(spark, table, [good[0], old, good[1]])
    with pytest.raises(MetadataChangedException, match="has to be written again"):
        old.awaitAnswer()
    for one in good:
        one.awaitAnswer()
    assert versions(table)[2:] == [{"site-1": 0, "site-2": 0}]
    assert found(spark, table) == [1, 2]


def test_a_batch_that_the_table_has_is_refused_alone(
    spark: SparkSession, table: str, made: Made
) -> None:
    made(0).commit(table, WrittenBatch("site-0", 7))
    group = [brought(made(n), table, WrittenBatch(f"site-{n}", 7)) for n in range(3)]
    add(spark, table, group)
    with pytest.raises(Py4JJavaError, match="took batch 7 meanwhile"):
        group[0].awaitAnswer()
    for one in group[1:]:
        one.awaitAnswer()
    assert versions(table)[1:] == [{"site-0": 7}, {"site-1": 7, "site-2": 7}]
    assert found(spark, table) == [0, 1, 2]


def test_a_file_that_is_gone_fails_its_own_batch_alone(
    spark: SparkSession, table: str, made: Made
) -> None:
    group = []
    for n in range(4):
        before = files(table)
        group.append(brought(made(n), table, WrittenBatch(f"site-{n}", 0)))
        if n == 2:
            (its,) = files(table) - before
            its.unlink()
    add(spark, table, group)
    for n, one in enumerate(group):
        if n == 2:
            with pytest.raises(Exception, match="NoSuchFile"):
                one.awaitAnswer()
        else:
            one.awaitAnswer()
    assert found(spark, table) == [0, 1, 3]
    assert not holds(spark, table, WrittenBatch("site-2", 0))


def test_drivers_that_repeat_each_others_batches_in_groups_write_each_once(
    spark: SparkSession, table: str, made: Made
) -> None:
    """Two names of a table are two queues: they know no more of each other than two drivers do."""
    sites, begin = 6, Barrier(2)

    def drive(queue: str, number: int) -> int:
        group = [
            brought(made(100 * number + site), table, WrittenBatch(f"site-{site}", number))
            for site in range(sites)
        ]
        begin.wait(60)
        add(spark, queue, group)
        return sum(is_in(one) for one in group)

    with ThreadPoolExecutor(2) as pool:
        for number in range(4):
            driven = pool.map(drive, [table, f"file:{table}"], [number] * 2)
            assert sum(driven) == sites
    assert found(spark, table) == [100 * n + site for n in range(4) for site in range(sites)]


def test_a_batch_of_a_stopped_query_is_repeated_and_there_once(
    spark: SparkSession, table: str, made: Made
) -> None:
    first, second = made(0), made(0)
    jvm(spark).java.lang.Thread.currentThread().interrupt()
    with pytest.raises(Py4JJavaError, match="InterruptedException"):
        first.commit(table, WrittenBatch("site", 0))
    # It is in a commit by now, or was taken out of the queue.
    is_in(brought_in(spark, table, second))
    assert found(spark, table) == [0]


def brought_in(spark: SparkSession, table: str, written: Written) -> Any:
    one = brought(written, table, WrittenBatch("site", 0))
    add(spark, table, [one])
    return one


def is_in(one: Any) -> bool:
    try:
        one.awaitAnswer()
    except ConcurrentTransactionException:
        return False
    except Py4JJavaError as error:
        if "meanwhile" not in str(error):
            raise
        return False
    return True


@dataclass
class Crash:
    """Bronze takes the batches of all sites in one version, and then the process ends."""

    spark: SparkSession
    bronze: str
    barrier: Barrier
    group: list[Any] = field(default_factory=list)

    def commit(self, written: Written, table: str, batch: WrittenBatch) -> None:
        if table != self.bronze:
            raise CrashError
        one = brought(written, table, batch)
        self.group.append(one)
        if self.barrier.wait(60) == 0:
            add(self.spark, table, self.group)
        one.awaitAnswer()


def test_a_crash_between_two_tables_leaves_each_site_its_own_way_on(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables, records = make_tables(spark, tmp_path), ten_records(spark)
    names = ["plant-a", "plant-b", "plant-c"]
    sinks = [sink_of(tables, tmp_path / name, name) for name in names]
    crash = Crash(spark, tables.bronze, Barrier(len(sinks)))
    with monkeypatch.context() as patch, ThreadPoolExecutor(len(sinks)) as pool:
        patch.setattr(Written, "commit", lambda *its: crash.commit(*its))
        for ended in [pool.submit(sink, records, 0) for sink in sinks]:
            with pytest.raises(CrashError):
                ended.result()
    assert versions(tables.bronze)[1:] == [dict.fromkeys(names, 0)]
    with ThreadPoolExecutor(len(sinks)) as pool:
        list(pool.map(lambda sink: sink(records, 0), sinks))
    for layer, offsets in WHOLE.items():
        rows = spark.read.format("delta").load(getattr(tables, layer)).collect()
        wanted = sorted((name, offset) for name in names for offset in offsets)
        assert sorted((row.site, row.offset) for row in rows) == wanted
