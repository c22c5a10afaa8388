"""One site's streaming query: begun, begun again while its broker is away, ended whole."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql.streaming import StreamingQuery

from millrace.base.errors import MillraceError, TransientError
from millrace.ingest.core.ingest_faults import Fault, FaultVerdict, judge
from millrace.ingest.core.standing import Standing
from millrace.ingest.io.checkpoint import Checkpoint
from millrace.storage.io.files import mtime_ns
from spark_jobs.engine.fence import FencedError
from spark_jobs.engine.java import error_text
from spark_jobs.ingest.site_topics import TopicChangedError

log = logging.getLogger(__name__)

_POLL_S = 0.05
# How often a halted site's files and checkpoint are looked at; in a bucket each look is paid for.
_LOOK_S = 5.0
_BROKER_SILENT_S = 3.0
# How often topics are compared beside each batch, which compares its own.
_COMPARE_S = 30.0


class JobFaultError(MillraceError):
    """A fault that no site can go on with."""


@dataclass
class SiteQuery:
    """Kept running from outside: `ensure` is called again and again."""

    site: str
    # Takes its time where the broker is away, so it is done beside the main loop.
    begin: Callable[[], StreamingQuery]
    checkpoint: Checkpoint
    # The secret and the CA: of a site that is halted, another of them may be the cure.
    files: tuple[Path, ...]
    # Whether the broker has another topic under the name of one that the query reads.
    are_topics_others: Callable[[], bool]
    # The same of their ids alone; raises TopicChangedError.
    check_topics: Callable[[], None]
    # Where records are whose times Spark's own reader cannot convert.
    beyond_spark: Callable[[], list[str]]
    pool: Executor
    standing: Standing = field(default_factory=Standing)
    _query: StreamingQuery | None = None
    _starting: Future[StreamingQuery] | None = None
    # Whether the query was ended, as a topic of it is no more.
    _comparing: Future[bool] | None = None
    _next_compare_s: float = 0.0
    _files_then: list[int] = field(default_factory=list)
    _batch_then: int = 0
    _planned_then: int = 0
    _next_look_s: float = 0.0

    def ensure(self, now_s: float) -> None:
        if self._starting is not None:
            self._on_start(now_s, self._starting)
        elif self._comparing is not None:
            self._on_compared(now_s, self._comparing)
        elif self._query is not None and self._query.isActive:
            self._on_alive(now_s)
            self._compare(now_s, self._query)
        elif self._query is not None:
            error, self._query = failure_text(self._query), None
            self._on_end(now_s, error)
        else:
            self._look_for_a_change(now_s)
            if self.standing.is_due(now_s):
                self._begin(now_s)

    def _begin(self, now_s: float) -> None:
        self.standing.on_begin(now_s)
        self._files_then = self._files_now()
        self._starting = self.pool.submit(self._start)

    def _start(self) -> StreamingQuery:
        if self.standing.halted:
            self._batch_then = self.checkpoint.last_commit()
        return self.begin()

    def _on_start(self, now_s: float, starting: Future[StreamingQuery]) -> None:
        if not starting.done():
            return
        self._starting = None
        try:
            self._query = starting.result()
        except TransientError as error:
            self._pause(now_s, Fault(FaultVerdict.RETRY, str(error)))
        except (MillraceError, PySparkException, Py4JJavaError, OSError) as error:
            self._on_end(now_s, f"{type(error).__name__}: {error}")

    def _on_alive(self, now_s: float) -> None:
        # While it is halted alone is it worth a look at the checkpoint.
        if self.standing.halted and self._is_time_to_look(now_s):
            self.standing.on_alive(now_s, has_read=self._has_read())
            if not self.standing.halted:
                log.info("site %s: no longer halted", self.site)

    def _has_read(self) -> bool:
        try:
            return self.checkpoint.last_commit() > self._batch_then
        except TransientError as error:
            log.debug("site %s: its checkpoint was not looked at: %s", self.site, error)
            return False

    def _compare(self, now_s: float, query: StreamingQuery) -> None:
        """A new topic that ends just where the former one was read to makes no batch, and only
        batches compare.
        """
        if now_s >= self._next_compare_s:
            self._next_compare_s = now_s + _COMPARE_S
            self._comparing = self.pool.submit(self._left_for_another, query)

    def _left_for_another(self, query: StreamingQuery) -> bool:
        try:
            self.check_topics()
        except TopicChangedError:
            _forbid_next_batch(query)
            self._finish(query)
            return True
        except (MillraceError, OSError) as error:
            log.debug("site %s: its topics were not compared: %s", self.site, error)
        return False

    def _on_compared(self, now_s: float, comparing: Future[bool]) -> None:
        if not comparing.done():
            return
        self._comparing = None
        if comparing.result():
            self._query = None
            self._pause(now_s, Fault(FaultVerdict.RETRY, "a topic was made anew; going on with it"))

    def _on_end(self, now_s: float, error: str) -> None:
        fault = self._explained(judge(error))
        if fault.verdict is FaultVerdict.FENCED:
            raise FencedError(fault.reason)
        if fault.verdict is FaultVerdict.END:
            log.error("site %s: %s", self.site, error)
            raise JobFaultError(f"site {self.site!r}: {fault.reason}")
        if fault.verdict is FaultVerdict.HALT:
            log.error("site %s: %s", self.site, error)
        self._pause(now_s, fault)

    def _explained(self, fault: Fault) -> Fault:
        """Records may be missing because the topic is another; where nobody can say, that is
        found out with the next start."""
        if fault.verdict is FaultVerdict.TIME:
            return Fault(FaultVerdict.HALT, f"{fault.reason}{self._named()}")
        if fault.verdict is not FaultVerdict.OFFSETS:
            return fault
        try:
            is_made_anew = self.are_topics_others()
        except TransientError as error:
            return Fault(FaultVerdict.UNREACHABLE, str(error))
        except MillraceError as error:
            return judge(f"{type(error).__name__}: {error}")
        if is_made_anew:
            return Fault(FaultVerdict.RETRY, "a topic was made anew; going on with it")
        return Fault(FaultVerdict.HALT, fault.reason)

    def _named(self) -> str:
        try:
            found = self.beyond_spark()
        except MillraceError as error:
            log.warning(
                "site %s: the broker could not be asked which record it is: %s", self.site, error
            )
            found = []
        return f"; first such record: {', '.join(found)}" if found else ""

    def _pause(self, now_s: float, fault: Fault) -> None:
        is_login = fault.verdict is FaultVerdict.LOGIN
        is_mended = is_login and self._files_now() != self._files_then
        pause_s = self.standing.on_fault(fault, now_s, is_mended=is_mended)
        self._planned_then = self._planned_now()
        reason = (
            "its password was changed; going on with the new one" if is_mended else fault.reason
        )
        log.warning("site %s: %s; next try in %.0f s", self.site, reason, pause_s)

    def _look_for_a_change(self, now_s: float) -> None:
        if not self.standing.halted or not self._is_time_to_look(now_s):
            return
        now = (self._files_now(), self._planned_now())
        if now != (self._files_then, self._planned_then):
            log.info("site %s: its files or its checkpoint changed; trying again", self.site)
            self._files_then, self._planned_then = now
            self.standing.on_change(now_s)

    def _is_time_to_look(self, now_s: float) -> bool:
        if now_s < self._next_look_s:
            return False
        self._next_look_s = now_s + _LOOK_S
        return True

    def _files_now(self) -> list[int]:
        return [mtime_ns(file) for file in self.files]

    def _planned_now(self) -> int:
        """A person may have taken the checkpoint away, as the advice for lost records is."""
        try:
            return self.checkpoint.last_planned()
        except TransientError:
            return self._planned_then

    def ask_to_end(self) -> None:
        """No batch begins after this; the running one goes on to its commit."""
        if self._query is not None:
            _forbid_next_batch(self._query)

    def end(self) -> None:
        """Waits for the running batch; `ask_to_end` came before."""
        if self._starting is not None and not self._starting.cancel():
            self._await_start(self._starting)
        if self._query is not None:
            self._finish(self._query)

    def _finish(self, query: StreamingQuery) -> None:
        """Of a query that may not begin another batch."""
        self._await_batch(query)
        try:
            query.stop()
        except Py4JJavaError as error:
            # Kafka's client waits for a broker that is away; the end of the JVM does not.
            log.warning(
                "site %s: its query did not end in time; the end of the job ends it: %s",
                self.site,
                error.java_exception,
            )

    def _await_start(self, starting: Future[StreamingQuery]) -> None:
        try:
            self._query = starting.result()
        except Exception as error:
            log.warning(
                "site %s: its query did not start before the job's end: %s", self.site, error
            )
        else:
            self.ask_to_end()

    def _await_batch(self, query: StreamingQuery) -> None:
        quiet_since_s = time.monotonic()
        while query.status["isTriggerActive"]:
            if self._is_in_a_batch():
                quiet_since_s = time.monotonic()
            # A trigger without a batch only asks the broker, which may be away.
            if time.monotonic() - quiet_since_s > _BROKER_SILENT_S:
                return
            time.sleep(_POLL_S)

    def _is_in_a_batch(self) -> bool:
        """Also where the checkpoint does not say so at this moment: no batch is cut off on a guess,
        and a trigger without a batch ends by itself."""
        try:
            return self.checkpoint.last_planned() > self.checkpoint.last_commit()
        except TransientError as error:
            log.debug("site %s: its checkpoint was not looked at: %s", self.site, error)
            return True


def _forbid_next_batch(query: StreamingQuery) -> None:
    """StreamingQuery.stop() interrupts a batch in the middle; Spark has no gentler public way.

    A query looks at this state between two batches, and nowhere inside one.
    """
    execution = query._jsq.streamingQuery()  # noqa: SLF001 - see above
    terminated = "org.apache.spark.sql.execution.streaming.runtime.TERMINATED$"
    loader = execution.getClass().getClassLoader()
    state = loader.loadClass(terminated).getField("MODULE$").get(None)
    execution.state().set(state)
    # The query may have looked just before; then its trigger shows as active a moment later.
    time.sleep(_POLL_S)


def failure_text(query: StreamingQuery) -> str:
    """The error with all its causes; empty when the query was stopped."""
    error = query.exception()
    return "" if error is None else error_text(error)
