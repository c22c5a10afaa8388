"""The main loop: every site's query is kept running until the job is to stop."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from millrace.base.errors import MillraceError, TransientError
from millrace.ingest.core.ingest_spec import IngestSpec, SiteInput
from millrace.ingest.core.sharing import Crowd
from millrace.ingest.core.standing import end_of_all
from millrace.ingest.io.checkpoint import Checkpoint
from millrace.ingest.io.duplicate_files import TwinFiles, TwinMemory
from millrace.jobs.core.heartbeat import Phase
from millrace.storage.io.objects import objects_at
from spark_jobs.engine.fence import Fence
from spark_jobs.engine.heartbeat_writer import HeartbeatWriter
from spark_jobs.engine.jvm import Jvm
from spark_jobs.engine.session import build_session
from spark_jobs.engine.stopping import StopRequest
from spark_jobs.ingest.query_watch import SiteWatch
from spark_jobs.ingest.sink import BatchSink
from spark_jobs.ingest.site_query import SiteQuery
from spark_jobs.ingest.site_tables import SiteTables
from spark_jobs.ingest.site_topics import SiteTopics
from spark_jobs.kafka.broker_view import Broker
from spark_jobs.kafka.source import beginning, pace, read_site
from spark_jobs.kafka.turn import turn_of
from spark_jobs.refine.duplicate_rows import lately_seen
from spark_jobs.refine.refined_tables import ensure_refined_tables

log = logging.getLogger(__name__)

_TICK_S = 0.5
# Each batch looks by itself; this ends an idle job, and in a bucket each look is paid for.
_LOOK_S = 5.0
# Sites that are away keep a start waiting for seconds; the others are not to wait for all of them.
_STARTS_AT_ONCE = 8


class MissingBronzeError(MillraceError):
    def __init__(self, job: IngestSpec) -> None:
        super().__init__(
            f"table {job.tables.bronze} is not there; the provision task of pipeline"
            f" {job.id!r} makes it"
        )


class NoSiteLeftError(MillraceError):
    """Every site waits for a person, so there is nothing to go on with."""


def drive(
    job: IngestSpec, watches: list[SiteWatch], heartbeats: HeartbeatWriter, stop: StopRequest
) -> None:
    """Returns after a graceful stop; every other end is an error."""
    if not objects_at(job.tables.bronze, job.engine.bucket).names("_delta_log"):
        raise MissingBronzeError(job)
    session = build_session(job.id, job.engine)
    jvm = Jvm.of(session)
    with _jvm_deaths_named(jvm):
        if job.refine:
            ensure_refined_tables(session, job.tables, job.refine)
        fence = Fence(job.generations_dir, job.generation, job.engine.bucket)
        starts = ThreadPoolExecutor(_STARTS_AT_ONCE)
        crowd = Crowd()
        queries = [
            _site_query(session, job, site, fence, watch, starts, crowd)
            for site, watch in zip(job.inputs, watches, strict=True)
        ]
        try:
            _keep_running(queries, fence, jvm, heartbeats, stop)
        finally:
            heartbeats.say(Phase.STOPPING)
            _end(queries)
            starts.shutdown()
            session.stop()


def _keep_running(
    queries: list[SiteQuery], fence: Fence, jvm: Jvm, heartbeats: HeartbeatWriter, stop: StopRequest
) -> None:
    running = False
    next_look_s = 0.0
    while not stop.wait(_TICK_S if running else 0):
        jvm.check()
        if time.monotonic() >= next_look_s:
            _look_at(fence)
            next_look_s = time.monotonic() + _LOOK_S
        for query in queries:
            query.ensure(time.monotonic())
        if reason := end_of_all({query.site: query.standing.halted for query in queries}):
            raise NoSiteLeftError(reason)
        heartbeats.touch()
        if not running:
            running = True
            heartbeats.say(Phase.RUNNING)


def _look_at(fence: Fence) -> None:
    try:
        fence.check()
    except TransientError as error:
        # Nor can anything be written while the object store is away.
        log.warning("whether a newer generation runs is not known now: %s", error)


def _end(queries: list[SiteQuery]) -> None:
    for query in queries:
        query.ask_to_end()
    # Side by side: a site that is away takes seconds, and many may be.
    with ThreadPoolExecutor(len(queries)) as pool:
        for ended in [pool.submit(query.end) for query in queries]:
            ended.result()


def _site_query(
    session: SparkSession,
    job: IngestSpec,
    site: SiteInput,
    fence: Fence,
    watch: SiteWatch,
    starts: Executor,
    crowd: Crowd,
) -> SiteQuery:
    checkpoint = Checkpoint(site.checkpoint, job.engine.bucket)
    broker = partial(Broker, site, f"millrace-{job.id}-begin")
    topics = SiteTopics(site, checkpoint, broker, watch.on_histories)
    kept = TwinFiles(objects_at(site.checkpoint, job.engine.bucket))
    memory = TwinMemory(kept, lambda span: lately_seen(session, job.tables.bronze, span))
    sink = BatchSink(
        site=site.site,
        topics=topics,
        tables=job.tables,
        refine=job.refine,
        checkpoint=checkpoint,
        fence=fence,
        twins=memory,
        tally=watch.tally,
        by_delta=job.engine.parts.writer == "delta",
        sites=len(job.inputs),
        measured=turn_of(session, job, site, crowd).batch,
    )

    def begin() -> StreamingQuery:
        topics.bring(SiteTables(session, job, site, sink))
        is_new = checkpoint.last_planned() < 0
        start = "earliest"
        if is_new:
            start = beginning(session, job, site, topics.ids_at(-1), topics.begun())
        return (
            read_site(session, job, site, start)
            .writeStream.queryName(f"{job.id}/{site.site}")
            .trigger(processingTime=pace(job))
            .foreachBatch(sink)
            .option("checkpointLocation", site.checkpoint)
            .start()
        )

    files = (site.secret_file, site.ca_file)
    standing = watch.standing
    asked = (topics.are_others, topics.check, topics.beyond_spark)
    return SiteQuery(site.site, begin, checkpoint, files, *asked, starts, standing)


@contextmanager
def _jvm_deaths_named(jvm: Jvm) -> Iterator[None]:
    """A dead JVM shows as broken connections first; its exit code says more."""
    try:
        yield
    except (Py4JError, OSError, EOFError):
        jvm.check(timeout_s=5.0)
        raise
