"""What a move to another topic asks of the tables: see ingest/core/moves.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from millrace.base.ranges import Range
from millrace.ingest.core.ingest_spec import IngestSpec, SiteInput
from millrace.ingest.core.lag import Partition
from millrace.ingest.core.restored import Stamp, looks
from millrace.kafka.core.coordinates import Part, in_ranges
from spark_jobs.ingest.sink import BatchSink
from spark_jobs.kafka.far_time_errors import far_times_named
from spark_jobs.kafka.kafka_span import read_spans
from spark_jobs.kafka.source import held_ends, held_ids


@dataclass(frozen=True)
class SiteTables:
    spark: SparkSession
    job: IngestSpec
    site: SiteInput
    sink: BatchSink

    def held_ids(self) -> dict[str, list[str]]:
        return held_ids(self.spark, self.job, self.site)

    def held_ends(self, ids: Mapping[str, str]) -> dict[Partition, int]:
        return held_ends(self.spark, self.job, self.site, ids)

    def last_read(self, positions: Mapping[Part, int]) -> dict[Partition, Stamp]:
        before = {
            part: Range(first=end - 1, last=end - 1) for part, end in positions.items() if end
        }
        rows = self._bronze.where(in_ranges(before)) if before else self._bronze.limit(0)
        time_ms = f.unix_millis("kafka_time").alias("ms")
        stamps = rows.select("topic", "partition", "offset", time_ms).collect()
        return {(row.topic, row.partition): (row.offset, row.ms) for row in stamps}

    def parting(self, lives: Sequence[Part], low: int, end: int) -> int:
        for begin in looks(low, end):
            span = Range(first=begin, last=end - 1)
            parting = self._first_other(lives, span)
            if parting is None:
                return end
            if parting > begin or begin == low:
                return parting
        return end

    def _first_other(self, lives: Sequence[Part], span: Range) -> int | None:
        here = read_spans(self.spark, self.job.id, (self.site,), {lives[-1]: span})
        if here is None:
            return None
        said = f.xxhash64("offset", "kafka_time", "key", "value").alias("said")
        kept = self._bronze.where(in_ranges(dict.fromkeys(lives, span))).select(said)
        others = here.select("offset", said).join(kept, "said", "left_anti")
        with far_times_named(self.job.id, (self.site,), {lives[-1]: span}):
            (row,) = others.agg(f.min("offset").alias("first")).collect()
        first = row["first"]
        return None if first is None else int(first)

    @property
    def _bronze(self) -> DataFrame:
        return self.spark.read.format("delta").load(self.job.tables.bronze)

    def settle(self, batch: int) -> bool:
        return self.sink.settle(self.spark, batch)

    def skip(self, batch: int) -> None:
        self.sink.skip(batch)
