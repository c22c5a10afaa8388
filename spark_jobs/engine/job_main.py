"""The life of a job, of any kind: it claims its generation, works, and says how it ended."""

from __future__ import annotations

import logging
from collections.abc import Callable

from millrace.base.errors import MillraceError
from millrace.jobs.core.heartbeat import Phase
from millrace.jobs.io.generations import claim, latest
from spark_jobs.engine.fence import FencedError
from spark_jobs.engine.heartbeat_writer import HeartbeatWriter
from spark_jobs.engine.jvm import JvmDiedError
from spark_jobs.engine.stopping import StopRequest

_FAILED = 1

# Returns after a graceful stop; every other end is an error.
Work = Callable[[HeartbeatWriter, StopRequest], None]


def run_job(heartbeats: HeartbeatWriter, work: Work) -> int:
    """The exit code."""
    job = heartbeats.job
    log = logging.getLogger(f"millrace.{job.kind}")
    if not claim(job.generations_dir, job.generation, job.engine.bucket):
        newest = latest(job.generations_dir, job.engine.bucket)
        log.warning("generation %s is taken (newest: %s); ending", job.generation, newest)
        return 0
    log.info("generation %s of %s %s: %s", job.generation, job.noun, job.id, job.reason)
    stop = StopRequest.install()
    heartbeats.say(Phase.STARTING)
    heartbeats.start()
    try:
        return _run_until_end(heartbeats, work, stop, log)
    finally:
        heartbeats.stop()


def _run_until_end(
    heartbeats: HeartbeatWriter, work: Work, stop: StopRequest, log: logging.Logger
) -> int:
    try:
        work(heartbeats, stop)
    except FencedError as fenced:
        log.warning("%s; ending", fenced)
        heartbeats.say(Phase.FENCED)
        return 0
    except JvmDiedError as died:
        return _fail(heartbeats, died, died.exit_code, log)
    except MillraceError as error:
        return _fail(heartbeats, error, _FAILED, log)
    except Exception as error:
        log.exception("unexpected")
        return _fail(heartbeats, error, _FAILED, log)
    log.info("stopped: %s", stop.reason)
    heartbeats.say(Phase.STOPPED)
    return 0


def _fail(
    heartbeats: HeartbeatWriter, error: Exception, exit_code: int, log: logging.Logger
) -> int:
    log.error("%s", error)
    heartbeats.say(Phase.FAILED, str(error))
    return exit_code
