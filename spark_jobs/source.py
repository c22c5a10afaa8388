"""The source: a site's topics, read from the oldest record on, nothing skipped."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from millrace.core.job import JobSpec, SiteInput

# A broker that is away is found to be so in seconds; a site's own `client:` settings go first.
PATIENCE = {
    "kafka.default.api.timeout.ms": "15000",
    "kafka.request.timeout.ms": "10000",
    "kafka.reconnect.backoff.max.ms": "5000",
}


def read_site(spark: SparkSession, job: JobSpec, site: SiteInput) -> DataFrame:
    options = {
        **PATIENCE,
        "kafka.isolation.level": "read_committed",
        **{f"kafka.{key}": value for key, value in site.kafka.items()},
        "subscribe": ",".join(site.topics),
        "startingOffsets": "earliest",
        "failOnDataLoss": "true",
        "includeHeaders": "true",
        "maxOffsetsPerTrigger": str(job.rows_per_batch),
        "groupIdPrefix": f"millrace-{job.pipeline}",
        "fetchOffset.numRetries": "1",
    }
    return spark.readStream.format("kafka").options(**options).load()
