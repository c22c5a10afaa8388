"""Reads spans of topics once, from where to where is known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import reduce

from pyspark.sql import DataFrame, SparkSession

from millrace.core.coordinates import Part
from millrace.core.job import SiteInput
from millrace.core.ranges import Range
from spark_jobs.rows import bronze_rows
from spark_jobs.source import reader_of, whole_records


def read_spans(
    spark: SparkSession, pipeline: str, inputs: tuple[SiteInput, ...], spans: Mapping[Part, Range]
) -> DataFrame | None:
    """The records as bronze rows; None where there is no span to read."""
    rows = [
        _read_site(spark, pipeline, site, its)
        for site in inputs
        if (its := {part: span for part, span in spans.items() if part.site == site.site})
    ]
    return reduce(DataFrame.unionAll, rows) if rows else None


def _read_site(
    spark: SparkSession, pipeline: str, site: SiteInput, spans: Mapping[Part, Range]
) -> DataFrame:
    options = {
        **whole_records(pipeline, site),
        "assign": json.dumps(_partitions(spans)),
        "startingOffsets": _offsets({part: span.first for part, span in spans.items()}),
        "endingOffsets": _offsets({part: span.last + 1 for part, span in spans.items()}),
    }
    return bronze_rows(spark.read.format(reader_of(spark)).options(**options).load(), site.site)


def _partitions(spans: Mapping[Part, Range]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for part in sorted(spans):
        topics.setdefault(part.topic, []).append(part.partition)
    return topics


def _offsets(offsets: Mapping[Part, int]) -> str:
    topics: dict[str, dict[str, int]] = {}
    for part, offset in sorted(offsets.items()):
        topics.setdefault(part.topic, {})[str(part.partition)] = offset
    return json.dumps(topics)
