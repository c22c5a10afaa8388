"""Sequences that producers number themselves, where messages carry them in their headers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as f

from millrace.base.ranges import Ranges
from millrace.kafka.core.coordinates import Part
from millrace.repair.core.alarms import Alarm, sequence_alarm
from millrace.repair.core.verify_spec import ProducerState, gaps_between, producer_gaps
from spark_jobs.refine.producer_numbers import IDENTITY, numbered
from spark_jobs.repair.coverage import ranges_of, rows_in, words_of
from spark_jobs.repair.forks import look_for_forks
from spark_jobs.repair.site_view import SiteView

_PART = ("site", "topic", "partition")
Producers = tuple[tuple[ProducerState, ...], tuple[Alarm, ...]]


def look_at_producers(bronze: DataFrame, sites: list[SiteView], settle_s: float) -> Producers:
    sent, settled = _as_offsets(numbered(bronze)), _is_settled(sites, settle_s)
    words = words_of({"sent": sent}, {"settled": settled}, keep=["kafka_time"]).persist()
    try:
        found = ranges_of(words, {"sent": "sent", "settled": "settled"})
        twins = _twins(words)
        forks = look_for_forks(bronze, _words_with_twins(words)) if twins else ()
    finally:
        words.unpersist()
    return _states(found["sent"], twins), (*_alarms(found["sent"], found["settled"]), *forks)


def _as_offsets(rows: DataFrame) -> DataFrame:
    """Counted as a partition's offsets are: producer for topic, epoch for partition."""
    offsets = zip((*IDENTITY, "number"), ("site", "topic", "partition", "offset"), strict=True)
    named = (f.col(name).alias(called) for name, called in offsets)
    # A producer counts on over a topic that is made anew.
    return rows.select("kafka_time", *named, f.lit("").alias("topic_id"))


def _words_with_twins(words: DataFrame) -> DataFrame:
    named = (f.col(name).alias(called) for name, called in zip(_PART, IDENTITY, strict=True))
    return words.where(f"{rows_in('sent')} > bit_count(sent)").select(*named, "word")


def _twins(words: DataFrame) -> dict[Part, int]:
    """How many messages came again, by producer; those of which none did are left out."""
    again = f.sum(f.col(rows_in("sent")) - f.expr("bit_count(sent)")).alias("twins")
    counted = words.groupBy(*Part._fields).agg(again).where("twins > 0")
    return {_part(row): row.twins for row in counted.collect()}


def _part(row: Row) -> Part:
    return Part(row.site, row.topic, row.partition)


def _is_settled(sites: list[SiteView], settle_s: float) -> Column:
    """What came later may yet be followed by what was sent before it."""
    now = datetime.now(UTC)
    settled = f.lit(False)
    for site in sites:
        last = min(now, site.oldest_waiting or now) - timedelta(seconds=settle_s)
        settled = settled | ((f.col("site") == site.site) & (f.col("kafka_time") <= f.lit(last)))
    return settled


def _states(sent: Mapping[Part, Ranges], twins: Mapping[Part, int]) -> tuple[ProducerState, ...]:
    return tuple(
        ProducerState(
            site=part.site,
            producer=part.topic,
            epoch=part.partition,
            first=ranges[0].first,
            last=ranges[-1].last,
            twins=twins.get(part, 0),
        )
        for part, ranges in sorted(sent.items())
    )


def _alarms(sent: Mapping[Part, Ranges], settled: Mapping[Part, Ranges]) -> tuple[Alarm, ...]:
    gaps = {part: producer_gaps(ranges, settled.get(part, ())) for part, ranges in sent.items()}
    alarms = [
        sequence_alarm(part.site, part.topic, part.partition, missing)
        for part, missing in sorted(gaps.items())
        if missing
    ]
    return (*alarms, *_alarms_between_epochs(sent, settled))


def _alarms_between_epochs(
    sent: Mapping[Part, Ranges], settled: Mapping[Part, Ranges]
) -> Iterator[Alarm]:
    by_producer: dict[tuple[str, str], dict[int, Ranges]] = defaultdict(dict)
    are_settled: dict[tuple[str, str], set[int]] = defaultdict(set)
    for part, ranges in sent.items():
        by_producer[part.site, part.topic][part.partition] = ranges
        if settled.get(part):
            are_settled[part.site, part.topic].add(part.partition)
    for (site, producer), epochs in sorted(by_producer.items()):
        for epoch, missing in gaps_between(epochs, are_settled[site, producer]).items():
            yield sequence_alarm(site, producer, epoch, missing)
