"""What the operator hears of a pipeline's job: what supervision tells, by the same decisions."""

from __future__ import annotations

import threading
from collections import Counter
from datetime import UTC, datetime

from millrace.incidents.core.event import Event, EventKind
from millrace.incidents.core.event_sources import of_halts, of_made_anew, of_silences, silences
from millrace.ingest.core.ingest_beat import IngestBeat
from millrace.jobs.core.journal import Journal
from millrace.jobs.core.trend import Trend, follow
from millrace.pipelines.core.spec import Supervise
from tests.integration.stands.lake.ingest_driver import IngestDriver

_EVERY_S = 0.5


class Hearing(threading.Thread):
    """Looks at the heartbeat twice a second, as a supervisor does."""

    def __init__(self, driver: IngestDriver) -> None:
        super().__init__(name="hearing", daemon=True)
        self._driver = driver
        self._journal = Journal()
        self._trend: Trend | None = None
        self._silences: dict[str, str] = {}
        self._halts: dict[str, str] = {}
        self._ending = threading.Event()
        self.events: list[Event] = []

    def run(self) -> None:
        while not self._ending.wait(_EVERY_S):
            if beat := self._driver.mailbox.read_heartbeat(IngestBeat):
                self._hear(beat, datetime.now(UTC))

    def end(self) -> None:
        self._ending.set()
        self.join(30)

    def told(self) -> Counter[EventKind]:
        """How often the operator heard of each kind."""
        return Counter(event.kind for event in self.events)

    def _hear(self, beat: IngestBeat, now: datetime) -> None:
        pipeline, before = beat.job, self._journal
        self._journal = before.hearing(beat)
        self._trend = follow(self._trend, beat, now)
        silent, halts = silences(self._trend, Supervise(), now), self._trend.halts()
        self.events += [
            *of_made_anew(pipeline, before, self._journal),
            *of_silences(pipeline, self._silences, silent, now),
            *of_halts(pipeline, self._halts, halts, now),
        ]
        self._silences, self._halts = silent, halts
