"""What we did not build: bronze by one query, silver by a second that reads bronze as a stream.

python -m benchmarks.contestants.two_hops JOB.json, with the job's own file and our own pieces.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame

from millrace.core.job import JobSpec
from millrace.core.refine import RefineSpec
from millrace.state.checkpoint import Checkpoint
from millrace.state.generations import claim
from millrace.state.objects import FolderObjects
from millrace.state.twin_files import TwinFiles, TwinMemory
from spark_jobs.append import Batch, append_once
from spark_jobs.broker import Broker
from spark_jobs.refine import quarantine_rows, refine, silver_rows
from spark_jobs.refined_tables import ensure_refined_tables
from spark_jobs.session import build_session
from spark_jobs.sink import BatchSink, Fence
from spark_jobs.site_tables import SiteTables
from spark_jobs.site_topics import SiteTopics
from spark_jobs.source import read_site


def run(job: JobSpec) -> None:
    spec = job.refine or RefineSpec(format="json", columns=())
    spark = build_session(job.pipeline, job.engine)
    ensure_refined_tables(spark, job.tables, spec)
    claim(job.generations_dir, job.generation)
    site = job.inputs[0]
    trigger = f"{int(job.trigger_s * 1000)} milliseconds"
    fence = Fence(job.generations_dir, job.generation)
    memory = TwinMemory(TwinFiles(FolderObjects(Path(site.checkpoint))))
    checkpoint = Checkpoint(site.checkpoint)
    topics = SiteTopics(site, checkpoint, partial(Broker, site, f"millrace-{job.pipeline}-begin"))
    sink = BatchSink(site.site, topics, job.tables, None, checkpoint, fence, memory)
    topics.bring(SiteTables(spark, job, site, sink))
    first = read_site(spark, job, site, "earliest").writeStream.foreachBatch(sink)
    first.option("checkpointLocation", site.checkpoint).trigger(processingTime=trigger).start()

    def refine_batch(rows: DataFrame, batch: int) -> None:
        judged = refine(rows, spec)
        append_once(silver_rows(judged, spec), job.tables.silver, Batch("second", batch))
        append_once(quarantine_rows(judged, spec), job.tables.quarantine, Batch("second", batch))

    stream = spark.readStream.format("delta").load(job.tables.bronze)
    second = stream.writeStream.foreachBatch(refine_batch)
    second.option("checkpointLocation", f"{site.checkpoint}-second").trigger(
        processingTime=trigger
    ).start()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    run(JobSpec.model_validate_json(Path(sys.argv[1]).read_text()))
