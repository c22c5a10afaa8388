"""Sequences that producers number themselves, where messages carry them in their headers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from millrace.core.alarms import Alarm, sequence_alarm
from millrace.core.continuity import EPOCH, PRODUCER, SEQUENCE, ProducerState, producer_gaps
from millrace.core.coordinates import Part
from millrace.core.ranges import Ranges
from spark_jobs.coverage import ranges_of, words_of
from spark_jobs.site_view import SiteView

Producers = tuple[tuple[ProducerState, ...], tuple[Alarm, ...]]


def look_at_producers(bronze: DataFrame, sites: list[SiteView], settle_s: float) -> Producers:
    numbered = _numbered(bronze)
    settled = numbered.where(_is_settled(sites, settle_s))
    words = words_of({"sent": numbered, "settled": settled})
    found = ranges_of(words, {"sent": "sent", "settled": "settled"})
    return _states(found["sent"]), _alarms(found["sent"], found["settled"])


def _numbered(bronze: DataFrame) -> DataFrame:
    """Counted as a partition's offsets are: producer for topic, epoch for partition."""
    rows = bronze.where(f.col("headers").isNotNull()).select(
        "site",
        "kafka_time",
        _header(PRODUCER).alias("topic"),
        _number(EPOCH).alias("partition"),
        _number(SEQUENCE).alias("offset"),
    )
    return rows.where("topic IS NOT NULL AND partition IS NOT NULL AND offset >= 0")


def _header(name: str) -> Column:
    named = f.filter("headers", lambda header: header["key"] == name)
    return f.get(named, 0)["value"].cast("string")


def _number(name: str) -> Column:
    return _header(name).try_cast("bigint")


def _is_settled(sites: list[SiteView], settle_s: float) -> Column:
    """What came later may yet be followed by what was sent before it."""
    now = datetime.now(UTC)
    settled = f.lit(False)
    for site in sites:
        last = min(now, site.oldest_waiting or now) - timedelta(seconds=settle_s)
        settled = settled | ((f.col("site") == site.site) & (f.col("kafka_time") <= f.lit(last)))
    return settled


def _states(sent: Mapping[Part, Ranges]) -> tuple[ProducerState, ...]:
    return tuple(
        ProducerState(
            site=part.site,
            producer=part.topic,
            epoch=part.partition,
            first=ranges[0].first,
            last=ranges[-1].last,
        )
        for part, ranges in sorted(sent.items())
    )


def _alarms(sent: Mapping[Part, Ranges], settled: Mapping[Part, Ranges]) -> tuple[Alarm, ...]:
    gaps = {part: producer_gaps(ranges, settled.get(part, ())) for part, ranges in sent.items()}
    return tuple(
        sequence_alarm(*part, missing) for part, missing in sorted(gaps.items()) if missing
    )
