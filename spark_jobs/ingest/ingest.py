"""The ingest job: every site's topics into one bronze table, exactly once.

python -m spark_jobs.ingest.ingest JOB.json
spark-submit spark_jobs/ingest/ingest.py s3a://.../N.json BUCKET
"""

from __future__ import annotations

import logging
import sys

from millrace.base.errors import MillraceError
from millrace.ingest.core.ingest_spec import IngestSpec
from millrace.ingest.core.lag import Throughput
from millrace.ingest.io.checkpoint import Checkpoint
from millrace.jobs.core.heartbeat import Phase
from millrace.jobs.io.generations import claim, latest
from millrace.jobs.io.spec_file import read_spec
from spark_jobs.engine.jvm import JvmDiedError
from spark_jobs.engine.stopping import StopRequest
from spark_jobs.engine.task_main import log_to_stderr
from spark_jobs.ingest.driver import drive
from spark_jobs.ingest.heartbeat_writer import Pulse
from spark_jobs.ingest.query_watch import SiteWatch
from spark_jobs.ingest.sink import FencedError
from spark_jobs.kafka.broker_view import Broker

log = logging.getLogger("millrace.ingest")

_FAILED = 1


def run(job: IngestSpec) -> int:
    """The whole life of a job; returns its exit code."""
    pulse = Pulse(job, [_watch(job, number) for number in range(len(job.inputs))])
    if not claim(job.generations_dir, job.generation, job.engine.bucket):
        newest = latest(job.generations_dir, job.engine.bucket)
        log.warning("generation %s is taken (newest: %s); ending", job.generation, newest)
        return 0
    log.info("generation %s of pipeline %s: %s", job.generation, job.id, job.reason)
    stop = StopRequest.install()
    pulse.say(Phase.STARTING)
    pulse.start()
    try:
        return _run_until_end(job, pulse, stop)
    finally:
        pulse.stop()


def _run_until_end(job: IngestSpec, pulse: Pulse, stop: StopRequest) -> int:
    try:
        drive(job, pulse, stop)
    except FencedError as fenced:
        log.warning("%s; ending", fenced)
        pulse.say(Phase.FENCED)
        return 0
    except JvmDiedError as died:
        return _fail(pulse, died, died.exit_code)
    except MillraceError as error:
        return _fail(pulse, error, _FAILED)
    except Exception as error:
        log.exception("unexpected")
        return _fail(pulse, error, _FAILED)
    log.info("stopped: %s", stop.reason)
    pulse.say(Phase.STOPPED)
    return 0


def _fail(pulse: Pulse, error: Exception, exit_code: int) -> int:
    log.error("%s", error)
    pulse.say(Phase.FAILED, str(error))
    return exit_code


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
