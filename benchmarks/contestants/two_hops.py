"""What we did not build: bronze by one query, silver by a second that reads bronze as a stream.

python -m benchmarks.contestants.two_hops JOB.json, with the job's own file and our own pieces.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame

from millrace.ingest.core.ingest_spec import IngestSpec
from millrace.ingest.io.checkpoint import Checkpoint
from millrace.ingest.io.duplicate_files import TwinFiles, TwinMemory
from millrace.jobs.io.generations import claim
from millrace.lake.core.refine import RefineSpec
from millrace.storage.io.objects import FolderObjects
from spark_jobs.engine.append import WrittenBatch, append_once
from spark_jobs.engine.fence import Fence
from spark_jobs.engine.session import build_session
from spark_jobs.ingest.sink import BatchSink
from spark_jobs.ingest.site_tables import SiteTables
from spark_jobs.ingest.site_topics import SiteTopics
from spark_jobs.kafka.broker_view import Broker
from spark_jobs.kafka.source import read_site
from spark_jobs.refine.refine_rows import quarantine_rows, refine, silver_rows
from spark_jobs.refine.refined_tables import ensure_refined_tables


def run(job: IngestSpec) -> None:
    spec = job.refine or RefineSpec(format="json", columns=())
    spark = build_session(job.id, job.engine)
    ensure_refined_tables(spark, job.tables, spec)
    claim(job.generations_dir, job.generation)
    site = job.inputs[0]
    trigger = f"{int(job.trigger_s * 1000)} milliseconds"
    fence = Fence(job.generations_dir, job.generation)
    memory = TwinMemory(TwinFiles(FolderObjects(Path(site.checkpoint))))
    checkpoint = Checkpoint(site.checkpoint)
    topics = SiteTopics(site, checkpoint, partial(Broker, site, f"millrace-{job.id}-begin"))
    sink = BatchSink(site.site, topics, job.tables, None, checkpoint, fence, memory)
    topics.bring(SiteTables(spark, job, site, sink))
    first = read_site(spark, job, site, "earliest").writeStream.foreachBatch(sink)
    first.option("checkpointLocation", site.checkpoint).trigger(processingTime=trigger).start()

    def refine_batch(rows: DataFrame, batch: int) -> None:
        judged = refine(rows, spec)
        append_once(silver_rows(judged, spec), job.tables.silver, WrittenBatch("second", batch))
        append_once(
            quarantine_rows(judged, spec), job.tables.quarantine, WrittenBatch("second", batch)
        )

    stream = spark.readStream.format("delta").load(job.tables.bronze)
    second = stream.writeStream.foreachBatch(refine_batch)
    second.option("checkpointLocation", f"{site.checkpoint}-second").trigger(
        processingTime=trigger
    ).start()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    run(IngestSpec.model_validate_json(Path(sys.argv[1]).read_text()))
