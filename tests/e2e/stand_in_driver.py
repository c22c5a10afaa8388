"""Takes the place of `spark_jobs/ingest/driver.py` in a scratch copy.

A job of a pipeline called `stand-in-...` keeps the whole protocol (claim, heartbeat, fence,
graceful stop) and moves no data, so that many fit on a machine, and a phase is as long as a test
wants it. Any other pipeline's job is the real one.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from millrace.ingest.core.ingest_spec import IngestSpec
from millrace.jobs.core.heartbeat import Phase
from spark_jobs.engine.fence import Fence
from spark_jobs.engine.heartbeat_writer import HeartbeatWriter
from spark_jobs.engine.stopping import StopRequest
from spark_jobs.ingest.query_watch import SiteWatch


def drive(
    job: IngestSpec, watches: list[SiteWatch], heartbeats: HeartbeatWriter, stop: StopRequest
) -> None:
    if not job.id.startswith("stand-in-"):
        from spark_jobs.ingest.real_driver import drive as really_drive

        really_drive(job, watches, heartbeats, stop)
        return
    pause_s = 6.0 if job.id.startswith("stand-in-slow-") else 0.1
    time.sleep(pause_s)
    with _alone(job):
        heartbeats.say(Phase.RUNNING)
        while not stop.wait(0.5):
            Fence(job.generations_dir, job.generation, job.engine.bucket).check()
            heartbeats.touch()
        heartbeats.say(Phase.STOPPING)
        time.sleep(pause_s)


@contextmanager
def _alone(job: IngestSpec) -> Iterator[None]:
    """Two that work at once leave the file `doubled`."""
    folder = Path(job.mailbox)
    with (folder / "alone.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            (folder / "doubled").write_text(f"generation {job.generation}, {os.getpid()}")
            raise
        yield
