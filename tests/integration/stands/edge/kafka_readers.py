"""The same spans of Kafka by our source and by Spark's own; runs in the lake's environment."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from millrace.base.model import Frozen
from millrace.repair.core.replay_spec import ReplaySpec
from spark_jobs.engine.session import READERS
from spark_jobs.kafka.source import whole_records

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Of 88 offsets: inside a transaction, to its marker, across an aborted one, markers alone.
SPANS = ((0, 20), (20, 41), (35, 50), (41, 47), (50, 88), (87, 88))


class Compared(Frozen):
    rows: tuple[int, ...]
    only_ours: int
    only_sparks: int
    in_order: bool


def compare(spark: SparkSession, task: ReplaySpec) -> Compared:
    pairs = [
        tuple(read(spark, task, READERS[name], *span) for name in ("millrace", "spark"))
        for span in SPANS
    ]
    return Compared(
        rows=tuple(ours.count() for ours, _ in pairs),
        only_ours=sum(ours.exceptAll(sparks).count() for ours, sparks in pairs),
        only_sparks=sum(sparks.exceptAll(ours).count() for ours, sparks in pairs),
        in_order=all(is_in_order(ours) for ours, _ in pairs),
    )


def read(spark: SparkSession, task: ReplaySpec, source: str, first: int, until: int) -> DataFrame:
    (site,) = task.inputs
    (topic,) = site.topics
    options = {
        **whole_records(task.pipeline, site),
        "assign": json.dumps({topic: [0, 1]}),
        "startingOffsets": json.dumps({topic: {"0": first, "1": first}}),
        "endingOffsets": json.dumps({topic: {"0": until, "1": until}}),
    }
    return spark.read.format(source).options(**options).load()


def is_in_order(records: DataFrame) -> bool:
    found = [(row.partition, row.offset) for row in records.collect()]
    return found == sorted(found)
