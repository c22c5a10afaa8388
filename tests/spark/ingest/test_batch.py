"""One batch, three tables: whole after a crash at every step, also under other rules."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from millrace.ingest.io.checkpoint import Checkpoint
from millrace.ingest.io.duplicate_files import TwinFiles, TwinMemory
from millrace.kafka.core.incarnations import Histories, beginning
from millrace.lake.core.columns import Column
from millrace.lake.core.refine import RefineSpec, Rule
from millrace.settings.core.engine import Tables
from millrace.storage.io.objects import FolderObjects
from spark_jobs.engine.append import Written, WrittenBatch, append_by_delta
from spark_jobs.engine.fence import Fence
from spark_jobs.ingest import site_batch
from spark_jobs.ingest.sink import BatchSink
from spark_jobs.refine.refined_tables import ensure_refined_tables
from tests.spark.fake_stream import KeptTopics
from tests.spark.ingest.test_sink import RECORDS, make_empty

NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)
COLUMNS = (Column(name="value", type="double", path=("value",), required=True),)
STRICT = Rule(id="small", severity="critical", broken="coalesce(value > 5, false)")
SPEC = RefineSpec(format="json", columns=COLUMNS, rules=(STRICT,))
Where = dict[str, list[int]]


class CrashError(Exception):
    pass


def sink_of(tables: Tables, folder: Path, site: str) -> BatchSink:
    """The first batch of a new checkpoint: offsets 0 to 9 of one partition."""
    (folder / "offsets").mkdir(parents=True)
    (folder / "metadata").write_text(json.dumps({"id": site}))
    (folder / "offsets" / "0").write_text('v1\n{}\n{"t": {"0": 10}}')
    (folder / "generations").mkdir()
    (folder / "generations" / "1").touch()
    fence = Fence(folder / "generations", 1)
    memory = TwinMemory(TwinFiles(FolderObjects(folder)))
    checkpoint = Checkpoint(folder)
    checkpoint.history_file.put(Histories(topics=beginning({"t": "id"}, {})))
    return BatchSink(site, KeptTopics(checkpoint), tables, SPEC, checkpoint, fence, memory)


def make_tables(spark: SparkSession, folder: Path) -> Tables:
    tables = Tables(**{layer: str(folder / layer) for layer in Tables.model_fields})
    make_empty(Path(tables.bronze), spark)
    ensure_refined_tables(spark, tables, SPEC)
    return tables


@pytest.fixture(params=["millrace", "delta"])
def batch(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> BatchSink:
    """By each writer."""
    made = sink_of(make_tables(spark, tmp_path), tmp_path / "checkpoint", "plant-a")
    return replace(made, by_delta=request.param == "delta")


@pytest.fixture
def records(spark: SparkSession) -> DataFrame:
    return ten_records(spark)


def ten_records(spark: SparkSession) -> DataFrame:
    """Values 0 to 9; one of them is nothing that can be read."""
    values = [json.dumps({"value": n}).encode() for n in range(9)]
    rows = [(b"k", v, "t", 0, n, NOON, 1, None) for n, v in enumerate([*values, b"broken"])]
    return spark.createDataFrame(rows, RECORDS)


def crash_at(monkeypatch: pytest.MonkeyPatch, table: str) -> None:
    """Before the table is told of the batch, whichever writer does it."""
    commit = Written.commit

    def crash(written: Written, to: str, batch: WrittenBatch) -> None:
        if to == table:
            raise CrashError
        commit(written, to, batch)

    def crash_by_delta(rows: DataFrame, to: str, batch: WrittenBatch) -> None:
        if to == table:
            raise CrashError
        append_by_delta(rows, to, batch)

    monkeypatch.setattr(Written, "commit", crash)
    monkeypatch.setattr(site_batch, "append_by_delta", crash_by_delta)


def contents(spark: SparkSession, tables: Tables) -> Where:
    return {
        layer: sorted(r.offset for r in spark.read.format("delta").load(path).collect())
        for layer, path in tables
    }


WHOLE = {"bronze": list(range(10)), "silver": list(range(6)), "quarantine": [6, 7, 8, 9]}


def test_every_row_is_in_silver_or_in_quarantine(
    batch: BatchSink, records: DataFrame, spark: SparkSession
) -> None:
    batch(records, 0)
    assert contents(spark, batch.tables) == WHOLE
    quarantine = spark.read.format("delta").load(batch.tables.quarantine)
    assert Counter(row.stage for row in quarantine.collect()) == {"rule": 3, "decode": 1}
    assert batch.tally.refused() == {"rule": 3, "decode": 1}
    assert batch.tally.broken() == {"small": 3}


def test_a_repeated_batch_changes_nothing(
    batch: BatchSink, records: DataFrame, spark: SparkSession
) -> None:
    batch(records, 0)
    batch(records, 0)
    assert contents(spark, batch.tables) == WHOLE


@pytest.mark.parametrize("layer", ["silver", "quarantine"])
def test_a_batch_goes_on_where_a_crash_interrupted_it(
    batch: BatchSink,
    records: DataFrame,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    layer: str,
) -> None:
    with monkeypatch.context() as patch:
        crash_at(patch, getattr(batch.tables, layer))
        with pytest.raises(CrashError):
            batch(records, 0)
    batch(records, 0)
    assert contents(spark, batch.tables) == WHOLE


def looser(spec: RefineSpec) -> RefineSpec:
    return spec.model_copy(update={"rules": ()})


def stricter(spec: RefineSpec) -> RefineSpec:
    return spec.model_copy(update={"rules": (STRICT.model_copy(update={"broken": "value > 2"}),)})


@pytest.mark.parametrize(
    ("batch", "change"),
    [
        ("millrace", looser),
        ("millrace", stricter),
        pytest.param("delta", looser, marks=pytest.mark.long),
        pytest.param("delta", stricter, marks=pytest.mark.long),
    ],
    indirect=["batch"],
)
def test_other_rules_after_a_crash_neither_lose_nor_double_a_row(
    batch: BatchSink,
    records: DataFrame,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[RefineSpec], RefineSpec],
) -> None:
    with monkeypatch.context() as patch:
        crash_at(patch, batch.tables.quarantine)
        with pytest.raises(CrashError):
            batch(records, 0)
    replace(batch, refine=change(SPEC))(records, 0)
    assert contents(spark, batch.tables) == WHOLE


@pytest.mark.parametrize("other", [True, False], ids=["to the other", "and back"])
def test_a_batch_may_be_finished_by_the_other_writer(
    batch: BatchSink,
    records: DataFrame,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    other: bool,
) -> None:
    with monkeypatch.context() as patch:
        crash_at(patch, batch.tables.silver)
        with pytest.raises(CrashError):
            batch(records, 0)
    replace(batch, by_delta=batch.by_delta != other)(records, 0)
    batch(records, 0)
    assert contents(spark, batch.tables) == WHOLE


@pytest.mark.parametrize("batch", ["millrace"], indirect=True)
def test_a_batch_of_good_rows_makes_no_commit_in_quarantine(
    batch: BatchSink, records: DataFrame, spark: SparkSession
) -> None:
    batch(records.where("offset < 5"), 0)
    log = Path(batch.tables.quarantine) / "_delta_log"
    assert [file.stem[-1] for file in log.glob("*.json")] == ["0"]


@pytest.mark.parametrize("batch", ["millrace"], indirect=True)
@pytest.mark.parametrize("layer", ["bronze", "silver", "quarantine"])
def test_a_table_that_changes_beneath_a_batch_gets_it_all_the_same(
    batch: BatchSink,
    records: DataFrame,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    layer: str,
) -> None:
    changed, commit = getattr(batch.tables, layer), Written.commit
    changes = [f"ALTER TABLE delta.`{changed}` ADD COLUMNS (more string)"]

    def after_a_change(written: Written, table: str, its: WrittenBatch) -> None:
        if table == changed and changes:
            spark.sql(changes.pop())
        commit(written, table, its)

    monkeypatch.setattr(Written, "commit", after_a_change)
    batch(records, 0)
    assert not changes
    for one, wanted in {"bronze": 10, "silver": 6, "quarantine": 4}.items():
        read = spark.read.format("delta").load(getattr(batch.tables, one))
        assert (read.count(), read.select("offset").distinct().count()) == (wanted, wanted)
