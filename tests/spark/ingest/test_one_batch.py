"""A batch against real tables, interrupted at each of its steps; see
tests/unit/ingest/test_one_batch.py for the laws, and for thousands of such lives in lists."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from millrace.ingest.core import sharing
from millrace.kafka.core.header_names import EPOCH, PRODUCER, SEQUENCE
from spark_jobs.ingest.site_batch import BatchFiles, RefinedBatch
from tests.batch_lives import Crash, Record
from tests.spark.fake_stream import RECORDS, FakeStream, Headers

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)


class CrashError(Exception):
    pass


@dataclass
class Fate:
    crash: Crash | None = None
    steps: int = 0

    def hold(self, patch: pytest.MonkeyPatch) -> None:
        """Every step that others can see: what it begins with, three tables, what it keeps."""
        for owner, name in (
            (RefinedBatch, "before"),
            (RefinedBatch, "append_accepted"),
            (RefinedBatch, "append_left_over"),
            (RefinedBatch, "keep"),
            (BatchFiles, "commit"),
        ):
            patch.setattr(owner, name, self._stepping(getattr(owner, name)))

    def _stepping(self, effect: Any) -> Any:
        def step(*arguments: Any) -> Any:
            if self.crash == Crash(self.steps, is_before=True):
                raise CrashError
            done = effect(*arguments)
            if self.crash == Crash(self.steps, is_before=False):
                raise CrashError
            self.steps += 1
            return done

        return step


def headers(record: Record) -> Headers | None:
    if record.sender is None:
        return None
    epoch, producer = record.sender.split()
    named = {PRODUCER: producer, EPOCH: epoch, SEQUENCE: str(record.number)}
    return [(name, text.encode()) for name, text in named.items()]


def frame(spark: SparkSession, records: list[Record]) -> DataFrame:
    """A partition is read by one task, and no two of these by the same."""
    parts = [
        [
            (b"k", b'{"v": 1}' if r.is_good else b"?", "t", *r.at, NOW, 1, headers(r))
            for r in records
            if r.at[0] == number
        ]
        for number in sorted({record.at[0] for record in records})
    ]
    tasks = spark.sparkContext.parallelize(parts, len(parts))
    return spark.createDataFrame(tasks.flatMap(list), RECORDS)


def messages(batch: int) -> list[Record]:
    """Of two partitions: new, broken and unnumbered ones, twins of every kind, and a late one."""
    base, offset = 10 * batch, 5 * batch
    first = [(base, True), (base + 1, False), (base + 1, True), (max(0, base - 9), True)]
    second = [(base, True), (base + 5, True), (base + 5, True), (base + 3, True)]
    return [
        *(Record((0, offset + n), "7 robot", *one) for n, one in enumerate(first)),
        Record((0, offset + 4), None, 0, is_good=True),
        *(Record((1, offset + n), "7 robot", *one) for n, one in enumerate(second)),
        Record((1, offset + 4), "8 robot", base, is_good=False),
    ]


# The way through all tables first, then the one that goes on with what bronze has.
CRASHES = [
    (Crash(1, is_before=False), Crash(1, is_before=False)),
    (Crash(0, is_before=False), Crash(2, is_before=True), Crash(2, is_before=False)),
    (Crash(3, is_before=True), Crash(0, is_before=True), Crash(3, is_before=False)),
    (Crash(4, is_before=True), Crash(1, is_before=True)),
]


def test_a_batch_ends_in_the_same_tables_wherever_it_was_interrupted(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "ROWS_WORTH_A_TASK", 1)
    stream = FakeStream(spark, tmp_path)
    sent: dict[tuple[int, int], Record] = {}
    for batch, crashes in enumerate(CRASHES):
        records = messages(batch)
        sent |= {record.at: record for record in records}
        end = 5 * (batch + 1)
        offsets = json.dumps({"t": {"0": end, "1": end}})
        stream.write(f"offsets/{batch}", f"v1\n{{}}\n{offsets}")
        for crash in (*crashes, None):
            with monkeypatch.context() as patch:
                Fate(crash).hold(patch)
                try:
                    stream.sink()(frame(spark, records), batch)
                except CrashError:
                    assert crash
        stream.write(f"commits/{batch}", "v1\n{}")
    tables = {
        layer: spark.read.format("delta").load(path).select("partition", "offset").collect()
        for layer, path in stream.tables
    }
    rows = {layer: sorted(map(tuple, found)) for layer, found in tables.items()}
    assert rows["bronze"] == sorted(sent)
    assert sorted([*rows["silver"], *rows["quarantine"]]) == rows["bronze"]
    named = [(r.sender, r.number) for r in map(sent.__getitem__, rows["silver"]) if r.sender]
    assert len(named) == len(set(named))
    # Of each batch three numbers, and the message that has none.
    assert len(rows["silver"]) == 4 * len(CRASHES)


@pytest.mark.parametrize(
    ("rows_worth_a_task", "slots", "files"),
    [(1, 4, 4), (1, 8, 8), (1, 16, 8), (50_000, 8, 1)],
    ids=["four slots", "eight slots", "more slots than partitions", "a small batch"],
)
def test_a_batch_has_as_many_tasks_as_its_partitions_and_the_slots_allow(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rows_worth_a_task: int,
    slots: int,
    files: int,
) -> None:
    monkeypatch.setattr(sharing, "ROWS_WORTH_A_TASK", rows_worth_a_task)
    monkeypatch.setattr(SparkContext, "defaultParallelism", slots)
    stream = FakeStream(spark, tmp_path)
    parts = {str(number): 0 for number in range(8)}
    stream.write("sources/0/0", f"v1\n{json.dumps({'t': parts})}")
    stream.write("offsets/0", f"v1\n{{}}\n{json.dumps({'t': dict.fromkeys(parts, 1)})}")
    records = [Record((number, 0), None, 0, is_good=True) for number in range(8)]
    stream.sink()(frame(spark, records), 0)
    for layer in ("bronze", "silver"):
        table = spark.read.format("delta").load(getattr(stream.tables, layer))
        assert len(table.inputFiles()) == files
