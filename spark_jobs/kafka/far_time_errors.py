"""Names the records whose times Spark's own reader cannot convert: see ingest/core/far_times.py."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from confluent_kafka import KafkaException
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from millrace.base.ranges import Range
from millrace.ingest.core.far_times import (
    SPARKS_LAST_MS,
    FarTimeError,
    Spans,
    candidates,
    described,
    far_records,
)
from millrace.ingest.core.ingest_faults import FaultVerdict, judge
from millrace.ingest.core.ingest_spec import SiteInput
from millrace.ingest.core.lag import Partition
from millrace.kafka.core.coordinates import Part
from spark_jobs.engine.java import error_text
from spark_jobs.kafka.broker_view import Broker

log = logging.getLogger(__name__)

_PATIENCE_S = 15.0


@contextmanager
def far_times_named(
    pipeline: str, inputs: tuple[SiteInput, ...], spans: Mapping[Part, Range]
) -> Iterator[None]:
    """Around whatever makes Spark read these spans."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        if judge(error_text(error)).verdict is not FaultVerdict.TIME:
            raise
        records = [
            f"site {site.site!r}, {record}"
            for site in inputs
            for record in _records(pipeline, site, spans)
        ]
        raise FarTimeError(pipeline, records, spans) from error


def far_records_of(broker: Broker, spans: Spans) -> dict[Partition, tuple[int, int]]:
    """Offset and time of each partition's first such record; raises KafkaException."""
    firsts = broker.offsets_from(SPARKS_LAST_MS + 1, list(spans))
    return far_records(spans, broker.stamps_at(candidates(spans, firsts)))


def _records(pipeline: str, site: SiteInput, spans: Mapping[Part, Range]) -> list[str]:
    its = {(p.topic, p.partition): span for p, span in spans.items() if p.site == site.site}
    broker = Broker(site, f"millrace-{pipeline}-times", _PATIENCE_S)
    try:
        return described(far_records_of(broker, its))
    except KafkaException as error:
        log.warning(
            "site %s: the broker could not be asked which record it is: %s",
            site.site,
            error.args[0].str(),
        )
        return []
    finally:
        broker.close()
