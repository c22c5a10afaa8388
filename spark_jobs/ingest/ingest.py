"""The ingest job: every site's topics into one bronze table, exactly once.

python -m spark_jobs.ingest.ingest JOB.json
spark-submit spark_jobs/ingest/ingest.py s3a://.../N.json BUCKET
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial

from millrace.ingest.core.ingest_beat import IngestBeat
from millrace.ingest.core.ingest_spec import IngestSpec
from millrace.ingest.core.lag import Throughput
from millrace.ingest.io.checkpoint import Checkpoint
from millrace.jobs.core.heartbeat import Heartbeat
from millrace.jobs.io.spec_file import read_spec
from spark_jobs.engine.heartbeat_writer import HeartbeatWriter
from spark_jobs.engine.job_main import run_job
from spark_jobs.engine.stopping import StopRequest
from spark_jobs.engine.task_main import log_to_stderr
from spark_jobs.ingest.driver import drive
from spark_jobs.ingest.query_watch import SiteWatch
from spark_jobs.kafka.broker_view import Broker


def run(job: IngestSpec) -> int:
    """The whole life of a job; returns its exit code."""
    watches = [_watch(job, number) for number in range(len(job.inputs))]
    return run_job(
        HeartbeatWriter(job, partial(ingest_beat, watches)), partial(_work, job, watches)
    )


def ingest_beat(watches: Sequence[SiteWatch], common: Heartbeat) -> IngestBeat:
    return IngestBeat(**dict(common), sites=tuple(watch.beat() for watch in watches))


def _work(
    job: IngestSpec, watches: list[SiteWatch], heartbeats: HeartbeatWriter, stop: StopRequest
) -> None:
    for watch in watches:
        watch.start()
    try:
        drive(job, watches, heartbeats, stop)
    finally:
        for watch in watches:
            watch.stop()


def _watch(job: IngestSpec, number: int) -> SiteWatch:
    site = job.inputs[number]
    return SiteWatch(
        site=site.site,
        broker=Broker(site, group=f"millrace-{job.id}-watch"),
        checkpoint=Checkpoint(site.checkpoint, job.engine.bucket),
        # Long enough to see a few batches, or the rate of a slow trigger would jump.
        throughput=Throughput(window_s=max(10.0, 3 * job.trigger_s)),
    )


def main() -> int:
    log_to_stderr()
    return run(IngestSpec.model_validate_json(read_spec(sys.argv[1:])))


if __name__ == "__main__":
    sys.exit(main())
