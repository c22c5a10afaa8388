"""Reads spans of topics once, from where to where is known."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import reduce

from pyspark.sql import DataFrame, SparkSession

from millrace.base.errors import MillraceError
from millrace.base.ranges import Range
from millrace.ingest.core.ingest_spec import SiteInput
from millrace.kafka.core.coordinates import Part
from millrace.kafka.core.incarnations import brokers_id
from spark_jobs.kafka.bronze_rows import bronze_rows
from spark_jobs.kafka.source import reader_of, whole_records, with_bounded_times
from spark_jobs.kafka.topic_ids import TopicIds

_PATIENCE_S = 15.0


def read_spans(
    spark: SparkSession, pipeline: str, inputs: tuple[SiteInput, ...], spans: Mapping[Part, Range]
) -> DataFrame | None:
    """The records as bronze rows; None where there is no span to read.

    All of a topic are of one incarnation. Whoever reads looks afterwards whether that is still the
    broker's (`refuse_other_topics`).
    """
    rows = [
        _read_site(spark, pipeline, site, its)
        for site in inputs
        if (its := {part: span for part, span in spans.items() if part.site == site.site})
    ]
    return reduce(DataFrame.unionAll, rows) if rows else None


def refuse_other_topics(inputs: tuple[SiteInput, ...], parts: Iterable[Part]) -> None:
    """Raises where what was read of these may be of another incarnation: one was made since."""
    read = {(part.site, part.topic): part.topic_id for part in parts}
    for site in inputs:
        topics = [topic for name, topic in read if name == site.site]
        for topic, brokers in TopicIds(site, _PATIENCE_S)(topics).items():
            if brokers_id(read[site.site, topic]) != brokers:
                raise MillraceError(
                    f"topic {topic!r} of site {site.site!r} was made anew while it was read;"
                    " nothing was written, so run this again"
                )


def _read_site(
    spark: SparkSession, pipeline: str, site: SiteInput, spans: Mapping[Part, Range]
) -> DataFrame:
    options = {
        **whole_records(pipeline, site),
        "assign": json.dumps(_partitions(spans)),
        "startingOffsets": _offsets({part: span.first for part, span in spans.items()}),
        "endingOffsets": _offsets({part: span.last + 1 for part, span in spans.items()}),
    }
    ids = {part.topic: part.topic_id for part in spans}
    records = spark.read.format(reader_of(spark)).options(**options).load()
    return bronze_rows(with_bounded_times(records), site.site, ids)


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
