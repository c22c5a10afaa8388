"""The source: a site's topics, read from the oldest record on, nothing skipped."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from millrace.core.job import JobSpec, SiteInput

# A broker that is away is found to be so in seconds; a site's own `client:` settings go first.
_PATIENCE = {
    "kafka.default.api.timeout.ms": "15000",
    "kafka.request.timeout.ms": "10000",
    "kafka.reconnect.backoff.max.ms": "5000",
}


def read_site(spark: SparkSession, job: JobSpec, site: SiteInput) -> DataFrame:
    options = {
        **whole_records(job.pipeline, site),
        "subscribe": ",".join(site.topics),
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(job.rows_per_batch),
    }
    return spark.readStream.format("kafka").options(**options).load()


def whole_records(pipeline: str, site: SiteInput) -> dict[str, str]:
    """How every reader of a site reads: what is committed, with its headers, or an error."""
    return {
        **_PATIENCE,
        "kafka.isolation.level": "read_committed",
        "kafka.max.poll.records": "20000",
        "kafka.max.partition.fetch.bytes": "4194304",
        **{f"kafka.{key}": value for key, value in site.kafka.items()},
        "failOnDataLoss": "true",
        "includeHeaders": "true",
        "groupIdPrefix": f"millrace-{pipeline}",
        "fetchOffset.numRetries": "1",
    }
