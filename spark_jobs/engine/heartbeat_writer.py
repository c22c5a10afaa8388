"""The heartbeat: written by a thread, but only while the job itself goes on."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial

from millrace.base.errors import MillraceError, TransientError
from millrace.jobs.core.heartbeat import Heartbeat, Phase, may_beat
from millrace.jobs.core.spec import JobSpec
from millrace.jobs.io.mailbox import Mailbox
from millrace.settings.core.metrics import EVERY_S, Metrics
from millrace.storage.core.bucket import SCHEME

log = logging.getLogger(__name__)


# In a bucket each is a put that is paid for.
_FOLDER_INTERVAL_S, _BUCKET_INTERVAL_S = 2.0, 10.0


@dataclass
class HeartbeatWriter:
    job: JobSpec
    # Adds what its kind says to what is common to all.
    of_kind: Callable[[Heartbeat], Heartbeat]
    clock_s: Callable[[], float] = time.monotonic
    metrics_every_s: float = EVERY_S
    _phase: Phase = Phase.STARTING
    _error: str = ""
    _alive_at_s: float = 0.0
    _stopped: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.touch()

    def start(self) -> None:
        threading.Thread(target=self._run, name="heartbeats", daemon=True).start()
        if self.job.metrics:
            tell = partial(self._tell, self.job.metrics)
            threading.Thread(target=tell, name="metrics", daemon=True).start()

    def touch(self) -> None:
        """The main loop goes on."""
        self._alive_at_s = self.clock_s()

    def say(self, phase: Phase, error: str = "") -> None:
        """Tell a change at once."""
        with self._lock:
            self._phase, self._error = phase, error
            self._write()

    def stop(self) -> None:
        self._stopped.set()

    @property
    def _interval_s(self) -> float:
        is_shared = self.job.mailbox.startswith(SCHEME)
        return _BUCKET_INTERVAL_S if is_shared else _FOLDER_INTERVAL_S

    def _run(self) -> None:
        while not self._stopped.wait(self._interval_s):
            if self._is_alive:
                with self._lock:
                    self._write()

    def _tell(self, settings: Metrics) -> None:
        """Apart from heartbeats, which do not wait for another service."""
        from millrace.jobs.io.aws_metrics import put_measures

        while not self._stopped.wait(self.metrics_every_s):
            if not self._is_alive:
                continue
            now = datetime.now(UTC)
            try:
                put_measures(settings, self.job.noun, self.job.id, now, self._beat().measures(now))
            except TransientError as error:
                log.warning("%s", error)

    @property
    def _is_alive(self) -> bool:
        quiet = timedelta(seconds=self.clock_s() - self._alive_at_s)
        return may_beat(self._phase, quiet)

    def _beat(self) -> Heartbeat:
        common = Heartbeat(
            job=self.job.id,
            generation=self.job.generation,
            fingerprint=self.job.fingerprint,
            phase=self._phase,
            at=datetime.now(UTC),
            error=self._error,
        )
        return self.of_kind(common)

    def _write(self) -> None:
        try:
            Mailbox(self.job.mailbox, self.job.engine.bucket).write_heartbeat(self._beat())
        except (OSError, MillraceError) as error:
            # A full disk, or a bucket that is away, ends in stale heartbeats, which supervision
            # sees; the data goes on.
            log.warning("heartbeat not written: %s", error)
