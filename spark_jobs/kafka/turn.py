"""How much each batch of a site reads: told to its stream after each, by what the last took.

See ingest/core/sharing.py and jvm/src/millrace/kafka/Turn.java.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession

from millrace.ingest.core.ingest_spec import IngestSpec, SiteInput
from millrace.ingest.core.sharing import BatchLimits, Crowd, FinishedBatch, Portion
from spark_jobs.engine.java import jvm


def turn_name(job: IngestSpec, site: SiteInput) -> str:
    """Of the site's stream, among all of a JVM."""
    return f"{job.id}/{site.site}"


@dataclass
class Turn:
    """Of one site; the crowd is the whole job's."""

    site: str
    limits: BatchLimits
    crowd: Crowd
    java: JavaObject
    _portion: Portion = field(init=False)
    _read: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        self._say(self.limits.first)

    @contextmanager
    def batch(self, rows: int | None) -> Iterator[None]:
        """`rows`: how many offsets it spans; None where nobody knows."""
        began_s = time.monotonic()
        yield
        now_s = time.monotonic()
        records, size = self.java.records(), self.java.bytes()
        done = FinishedBatch(
            rows=records - self._read[0] if rows is None else rows,
            took_s=now_s - began_s,
            records=records - self._read[0],
            size=size - self._read[1],
        )
        self._read = records, size
        is_behind = self.limits.is_full(self._portion, done)
        self.crowd.on_batch(self.site, now_s, is_behind=is_behind)
        beside_fresh = self.crowd.has_fresh_beside(self.site, now_s)
        self._say(self.limits.next_portion(self._portion, done, beside_fresh=beside_fresh))

    def _say(self, portion: Portion) -> None:
        self._portion = portion
        self.java.next(portion.rows, int(portion.rest_s * 1000))


def turn_of(session: SparkSession, job: IngestSpec, site: SiteInput, crowd: Crowd) -> Turn:
    limits = BatchLimits(
        rows=job.rows_per_batch,
        size=job.bytes_per_batch,
        sites=len(job.inputs),
        slots=session.sparkContext.defaultParallelism,
    )
    java = jvm(session).millrace.kafka.Turn.of(turn_name(job, site))
    return Turn(site.site, limits, crowd, java)
