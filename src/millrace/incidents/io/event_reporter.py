"""Tells of what a watch sees. Trouble with telling is no trouble of the job's."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime

from millrace.incidents.core.event import Event
from millrace.incidents.core.event_sources import (
    of_change,
    of_halts,
    of_made_anew,
    of_silences,
    silences,
)
from millrace.incidents.io.outbox import tell
from millrace.jobs.core.journal import Journal
from millrace.jobs.core.trend import Trend
from millrace.pipelines.core.spec import Supervise
from millrace.platform.core.platform import Platform

log = logging.getLogger(__name__)


class EventReporter:
    """Of one pipeline, look by look."""

    def __init__(self, pipeline: str, layout: Platform) -> None:
        self._pipeline = pipeline
        self._layout = layout
        # As the last look found them, so that each is told once.
        self._silences: dict[str, str] = {}
        self._halts: dict[str, str] = {}

    def on_change(self, before: Journal, after: Journal) -> None:
        event = of_change(self._pipeline, before, after)
        self._tell([event] if event else [])

    def on_made_anew(self, before: Journal, after: Journal) -> None:
        self._tell(of_made_anew(self._pipeline, before, after))

    def on_trend(self, trend: Trend | None, policy: Supervise, now: datetime) -> None:
        silent = silences(trend, policy, now)
        self._tell(of_silences(self._pipeline, self._silences, silent, now))
        self._silences = silent
        halts = trend.halts() if trend else {}
        self._tell(of_halts(self._pipeline, self._halts, halts, now))
        self._halts = halts

    def _tell(self, events: Sequence[Event]) -> None:
        try:
            tell(self._layout, events)
        except OSError as error:
            log.warning("a platform event is lost: %s", error)
