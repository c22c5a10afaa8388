"""One site's streaming query: begun, begun again while its broker is away, ended whole."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql.streaming import StreamingQuery

from millrace.core.backoff import Backoff
from millrace.core.errors import MillraceError, TransientError
from millrace.core.ingest_faults import Verdict, judge
from millrace.state.checkpoint import Checkpoint
from millrace.state.files import mtime_ns
from spark_jobs.sink import FencedError

log = logging.getLogger(__name__)

_POLL_S = 0.05
_BROKER_SILENT_S = 3.0


class QueryFailedError(MillraceError):
    """A query that trying again cannot help."""


@dataclass
class SiteQuery:
    """Kept running from outside: `ensure` is called again and again."""

    site: str
    begin: Callable[[], StreamingQuery]
    checkpoint: Checkpoint
    secret_file: Path
    backoff: Backoff = field(default_factory=Backoff)
    _query: StreamingQuery | None = None
    _begun_at_s: float = 0.0
    _secret_then: int = 0
    _next_try_s: float = 0.0

    def ensure(self, now_s: float) -> None:
        if self._query is not None and self._query.isActive:
            return
        if self._query is not None:
            self._on_end(now_s, failure_text(self._query))
        elif now_s >= self._next_try_s:
            self._begun_at_s = now_s
            self._secret_then = mtime_ns(self.secret_file)
            try:
                self._query = self.begin()
            except TransientError as error:
                self._pause(now_s, str(error))

    def _on_end(self, now_s: float, error: str) -> None:
        self._query = None
        fault = judge(error)
        if fault.verdict is Verdict.FENCED:
            raise FencedError(fault.reason)
        if fault.verdict is Verdict.LOGIN and mtime_ns(self.secret_file) != self._secret_then:
            self._pause(now_s, "its password was changed; going on with the new one")
            return
        if fault.verdict in (Verdict.PERMANENT, Verdict.LOGIN):
            log.error("site %s: %s", self.site, error)
            raise QueryFailedError(f"site {self.site!r}: {fault.reason}")
        self._pause(now_s, fault.reason)

    def _pause(self, now_s: float, reason: str) -> None:
        pause_s = self.backoff.on_failure(now_s - self._begun_at_s)
        self._next_try_s = now_s + pause_s
        log.warning("site %s: %s; next try in %.0f s", self.site, reason, pause_s)

    def ask_to_end(self) -> None:
        """No batch begins after this; the running one goes on to its commit."""
        if self._query is not None:
            _forbid_next_batch(self._query)

    def end(self) -> None:
        """Waits for the running batch; `ask_to_end` came before."""
        if self._query is None:
            return
        self._await_batch(self._query)
        try:
            self._query.stop()
        except Py4JJavaError as error:
            # Kafka's client waits for a broker that is away; the end of the JVM does not.
            log.warning("site %s: left without an answer: %s", self.site, error.java_exception)

    def _await_batch(self, query: StreamingQuery) -> None:
        quiet_since_s = time.monotonic()
        while query.status["isTriggerActive"]:
            if self.checkpoint.last_planned() > self.checkpoint.last_commit():
                quiet_since_s = time.monotonic()
            # A trigger without a batch only asks the broker, which may be away.
            if time.monotonic() - quiet_since_s > _BROKER_SILENT_S:
                return
            time.sleep(_POLL_S)


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
    if error is None:
        return ""
    stack = getattr(error, "_stackTrace", "") if isinstance(error, PySparkException) else ""
    return f"{error}\n{stack}"
