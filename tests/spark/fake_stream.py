"""A site's stream without a broker: the job's own sink, given batches as Spark would give them."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from millrace.ingest.core.ingest_spec import SiteInput
from millrace.ingest.core.moves import Found, PutCommit, PutHistories, PutOffsets, next_step
from millrace.ingest.io.checkpoint import Checkpoint
from millrace.ingest.io.duplicate_files import TwinFiles, TwinMemory
from millrace.kafka.core.incarnations import Histories, beginning
from millrace.lake.core import bronze
from millrace.lake.core.columns import Column
from millrace.lake.core.refine import RefineSpec, Rule
from millrace.settings.core.engine import EngineSpec, Tables
from millrace.storage.io.objects import FolderObjects
from spark_jobs.engine.fence import Fence
from spark_jobs.ingest.sink import BatchSink
from spark_jobs.refine.duplicate_rows import lately_seen
from spark_jobs.refine.refined_tables import ensure_refined_tables

RECORDS = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp,"
    " timestampType int, headers array<struct<key:string,value:binary>>"
)
Headers = list[tuple[str, bytes]]
FIRST_ID = "first-life"
ENGINE = EngineSpec(memory="768m", class_path=())
V = Column(name="v", type="bigint", path=("v",), required=True)
LENIENT = RefineSpec(format="json", columns=(V,))
STRICT = RefineSpec(
    format="json",
    columns=(V, Column(name="w", type="string", path=("w",), required=False)),
    rules=(Rule(id="no-fives", severity="critical", broken="coalesce(v % 5 = 0, false)"),),
)


@dataclass(frozen=True)
class KeptTopics:
    """Those of which its checkpoint knows."""

    checkpoint: Checkpoint

    def ids_at(self, batch: int) -> dict[str, str]:
        return {topic: one.id for topic, one in self.checkpoint.histories().at(batch).items()}

    def check(self) -> None:
        """Nobody made another one meanwhile."""


@dataclass
class FakeStream:
    """Partition 0 of topic `t` of `plant-a`. Every tenth message is for quarantine."""

    spark: SparkSession
    home: Path
    batches: int = 0
    end: int = 0
    by_delta: bool = False
    _stopped: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.write("metadata", json.dumps({"id": "the-stream"}))
        first = beginning({"t": FIRST_ID}, {})
        Checkpoint(self.checkpoint).history_file.put(Histories(topics=first))
        (self.home / "generations").mkdir()
        (self.home / "generations" / "1").touch()
        create = DeltaTable.create(self.spark).location(self.tables.bronze)
        for name, kind in bronze.COLUMNS:
            create = create.addColumn(name, kind)
        for name, value in bronze.PROPERTIES.items():
            if name != "delta.logRetentionDuration":
                create = create.property(name, value)
        create.partitionedBy(*bronze.PARTITION_BY).execute()
        ensure_refined_tables(self.spark, self.tables, LENIENT)

    @property
    def tables(self) -> Tables:
        return Tables(**{layer: str(self.home / layer) for layer in Tables.model_fields})

    @property
    def checkpoint(self) -> str:
        return str(self.home / "checkpoint")

    def batch(
        self,
        rows: int,
        at: datetime | None = None,
        *,
        headers: Sequence[Headers | None] = (),
        commit: bool = True,
    ) -> None:
        """One batch; without `commit` as a crash before the checkpoint's would leave it."""
        time = at or datetime.now(UTC)
        records = [
            (b"k", message(n), "t", 0, n, time, 1, own)
            for n, own in zip_longest(range(self.end, self.end + rows), headers)
        ]
        self.end += rows
        self.write(f"offsets/{self.batches}", f'v1\n{{}}\n{{"t": {{"0": {self.end}}}}}')
        # As of a Kafka partition: one task meets them all.
        rows = self.spark.createDataFrame(records, RECORDS).coalesce(1)
        self.sink()(rows, self.batches)
        if commit:
            self.write(f"commits/{self.batches}", "v1\n{}")
        self.batches += 1

    def make_anew(self, topic_id: str) -> None:
        """As the job moves to another topic of that name, between two batches."""
        checkpoint = Checkpoint(self.checkpoint)
        found = {"t": Found(topic_id, {0: 0})}
        while step := next_step(checkpoint.kept(), found, datetime.now(UTC)):
            match step:
                case PutHistories(histories):
                    checkpoint.history_file.put(histories)
                case PutOffsets(batch, text):
                    self.sink().skip(batch)
                    checkpoint.put_offsets(batch, text)
                case PutCommit(batch, text):
                    checkpoint.put_commit(batch, text)
        self.batches, self.end = checkpoint.last_commit() + 1, 0

    def sink(self) -> BatchSink:
        """As a job that has just begun has it: it remembers what is in its checkpoint."""
        checkpoint = Checkpoint(self.checkpoint)
        fence = Fence(self.home / "generations", 1)
        files = TwinFiles(FolderObjects(Path(self.checkpoint)))
        memory = TwinMemory(files, lambda span: lately_seen(self.spark, self.tables.bronze, span))
        topics = KeptTopics(checkpoint)
        sink = BatchSink("plant-a", topics, self.tables, LENIENT, checkpoint, fence, memory)
        return replace(sink, by_delta=self.by_delta)

    def __enter__(self) -> FakeStream:
        """Batch after batch, in a thread of its own, with a pause as a trigger makes it."""
        self._stopped.clear()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(0.5):
            self.batch(20)

    def write(self, name: str, text: str) -> None:
        file = Path(self.checkpoint) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def offsets(self, layer: str) -> list[int]:
        rows = self.spark.read.format("delta").load(getattr(self.tables, layer))
        return sorted(row.offset for row in rows.select("offset").collect())

    def delete(self, layer: str, where: str) -> None:
        DeltaTable.forPath(self.spark, getattr(self.tables, layer)).delete(where)

    def version(self, layer: str) -> int:
        table = DeltaTable.forPath(self.spark, getattr(self.tables, layer))
        return int(table.history(1).collect()[0].version)

    @property
    def site_input(self) -> SiteInput:
        return SiteInput(
            site="plant-a",
            topics=("t",),
            kafka={},
            librdkafka={},
            secret_file=self.home,
            ca_file=self.home,
            checkpoint=self.checkpoint,
        )


def message(number: int) -> bytes:
    return json.dumps({"v": number if number % 10 else "ten"}).encode()
