"""The source: a site's topics, nothing skipped and nothing read twice."""

from __future__ import annotations

from collections.abc import Mapping

from confluent_kafka import KafkaException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from millrace.base.errors import TransientError
from millrace.ingest.core.ingest_spec import IngestSpec, SiteInput
from millrace.ingest.core.lag import Offsets, Partition, start_after
from millrace.ingest.core.sharing import fixed_rows, prefetch_bytes
from millrace.kafka.core.record_time import EARLIEST, LATEST, RAW_HEADER
from spark_jobs.engine.session import READER, READERS
from spark_jobs.kafka.broker_view import Broker
from spark_jobs.kafka.turn import turn_name

# A broker that is away is found to be so in seconds; a site's own `client:` settings go first.
_PATIENCE = {
    "kafka.default.api.timeout.ms": "15000",
    "kafka.request.timeout.ms": "10000",
    "kafka.reconnect.backoff.max.ms": "5000",
}


def read_site(spark: SparkSession, job: IngestSpec, site: SiteInput, begin: str) -> DataFrame:
    """`begin` is for a new checkpoint; every other goes on where it was."""
    options = {
        **whole_records(job.id, site),
        "subscribe": ",".join(site.topics),
        "startingOffsets": begin,
        # For Spark's own reader, whose batches are all alike; ours is told by its turn.
        "maxOffsetsPerTrigger": str(fixed_rows(job.rows_per_batch, len(job.inputs))),
        "turn": turn_name(job, site),
        "prefetchBytes": str(prefetch_bytes(len(job.inputs))),
        "paceMs": str(int(job.trigger_s * 1000)),
    }
    return with_bounded_times(spark.readStream.format(reader_of(spark)).options(**options).load())


def with_bounded_times(records: DataFrame) -> DataFrame:
    """As Millrace's own reader gives them: see kafka/core/record_time.py."""
    if reader_of(records.sparkSession) != READERS["spark"]:
        return records
    time = f.col("timestamp")
    is_believable = (time > f.lit(EARLIEST)) & (time < f.lit(LATEST))
    raw = f.struct(
        f.lit(RAW_HEADER).alias("key"),
        f.unix_millis(time).cast("string").cast("binary").alias("value"),
    )
    none = f.array().cast(records.schema["headers"].dataType)
    headers = f.concat(f.coalesce("headers", none), f.array(raw))
    return records.withColumns(
        {
            "headers": f.when(is_believable, f.col("headers")).otherwise(headers),
            "timestamp": f.greatest(f.lit(EARLIEST), f.least(time, f.lit(LATEST))),
        }
    )


def pace(job: IngestSpec) -> str:
    """How often Spark asks the reader for more; Millrace's own reader keeps its pace itself."""
    return "0 seconds" if job.engine.parts.reader == "millrace" else f"{job.trigger_s} seconds"


def reader_of(spark: SparkSession) -> str:
    """The format by which this session reads Kafka."""
    return str(spark.conf.get(READER))


def beginning(
    spark: SparkSession, job: IngestSpec, site: SiteInput, ids: Mapping[str, str], begun: Offsets
) -> str:
    """Of a new checkpoint, behind what the table has of these topics: nothing is to come twice.

    `begun`: where at least.
    """
    held = {**begun, **held_ends(spark, job, site, ids)}
    if not held:
        return "earliest"
    broker = Broker(site, group=f"millrace-{job.id}-begin")
    try:
        return start_after(held, broker.bounds())
    except KafkaException as error:
        raise TransientError(error.args[0].str()) from error
    finally:
        broker.close()


def held_ids(spark: SparkSession, job: IngestSpec, site: SiteInput) -> dict[str, list[str]]:
    """The incarnations of each topic of which the table has rows."""
    known = (
        rows_of_site(spark, job, site).groupBy("topic").agg(f.collect_set("topic_id").alias("i"))
    )
    return {row.topic: row.i for row in known.collect()}


def rows_of_site(spark: SparkSession, job: IngestSpec, site: SiteInput) -> DataFrame:
    bronze = spark.read.format("delta").load(job.tables.bronze)
    return bronze.where((f.col("site") == site.site) & f.col("topic").isin(list(site.topics)))


def held_ends(
    spark: SparkSession, job: IngestSpec, site: SiteInput, ids: Mapping[str, str]
) -> dict[Partition, int]:
    """Behind the last row that the table has of each partition of these topics."""
    rows = rows_of_site(spark, job, site)
    its = rows.where(f.col("topic_id").isin(list(ids.values())))
    ends = its.groupBy("topic", "partition").agg((f.max("offset") + 1).alias("end"))
    return {(row.topic, row.partition): row.end for row in ends.collect()}


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
        "kafkaConsumer.pollTimeoutMs": "30000",
        "groupIdPrefix": f"millrace-{pipeline}",
        "fetchOffset.numRetries": "1",
    }
