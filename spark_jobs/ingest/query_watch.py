"""Beside each query: what its broker holds, and what of that is not yet in the table."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime

from confluent_kafka import KafkaException

from millrace.base.errors import MillraceError
from millrace.ingest.core.ingest_beat import SiteBeat
from millrace.ingest.core.lag import (
    HeldOffsets,
    Partition,
    Throughput,
    measure,
    moved_ends,
    rows_between,
    start_positions,
    waiting,
)
from millrace.ingest.core.standing import Standing
from millrace.ingest.io.checkpoint import Checkpoint
from millrace.jobs.core.heartbeat import MadeAnew
from millrace.kafka.core.incarnations import Histories
from millrace.lake.core.tally import Tally
from spark_jobs.kafka.broker_view import Broker

log = logging.getLogger(__name__)

_TOLD = 10


@dataclass
class SiteWatch:
    """Looks again and again in a thread of its own; `beat` tells what it saw last."""

    site: str
    broker: Broker
    checkpoint: Checkpoint
    throughput: Throughput
    tally: Tally = field(default_factory=Tally)
    standing: Standing = field(default_factory=Standing)
    interval_s: float = 2.0
    # A record is fetched for it from each partition that grew.
    newest_interval_s: float = 10.0
    # Which topics its query reads, once it is known.
    histories: Histories = field(default_factory=Histories)
    _stopped: threading.Event = field(default_factory=threading.Event)
    _bounds: dict[Partition, HeldOffsets] = field(default_factory=dict)
    _positions: dict[Partition, int] = field(default_factory=dict)
    _oldest: dict[Partition, tuple[int, datetime]] = field(default_factory=dict)
    _newest: dict[Partition, tuple[int, datetime]] = field(default_factory=dict)
    _newest_next_s: float = 0.0
    _beat: SiteBeat | None = None

    def on_histories(self, histories: Histories) -> None:
        """Which topics its query reads from now on."""
        self.histories = histories

    def start(self) -> None:
        threading.Thread(target=self._run, name=f"watch-{self.site}", daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()

    def beat(self) -> SiteBeat:
        seen = self._beat or self._look(reachable=False)
        return seen.model_copy(update={"halted": self.standing.halted})

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._try_to_look()
            self._stopped.wait(self.interval_s)
        self.broker.close()

    def _try_to_look(self) -> None:
        """The object store may be away for a moment; what was seen last stays."""
        try:
            self._beat = self._look(reachable=self._ask_broker())
        except MillraceError as error:
            log.warning(
                "site %s: its checkpoint could not be read, and is read again: %s", self.site, error
            )

    def _ask_broker(self) -> bool:
        try:
            self._bounds = self.broker.bounds()
        except (KafkaException, MillraceError) as error:
            log.debug("site %s does not answer: %s", self.site, error)
            return False
        return True

    def _look(self, *, reachable: bool) -> SiteBeat:
        batch = self.checkpoint.last_commit()
        self._advance(start_positions(self.checkpoint.offsets(batch), self._bounds))
        if reachable:
            self._find_oldest()
            self._find_newest(time.monotonic())
        oldest = {part: at for part, (_, at) in self._oldest.items()}
        newest = {part: at for part, (_, at) in self._newest.items()}
        return SiteBeat(
            site=self.site,
            batch=batch,
            rows_per_s=round(self.throughput.per_s(time.monotonic()), 1),
            rows_total=self.throughput.total,
            last_batch_at=self.checkpoint.committed_at(batch),
            reachable=reachable,
            partitions=measure(self._positions, self._bounds, oldest, newest),
            refused=self.tally.refused(),
            broken=self.tally.broken(),
            readable_after_s=self.tally.readable_after_s,
            made_anew=_made_anew(self.histories),
        )

    def _advance(self, positions: dict[Partition, int]) -> None:
        rows = rows_between(self._positions, positions)
        self._positions = positions
        self.throughput.on_rows(time.monotonic(), rows)

    def _find_oldest(self) -> None:
        wanted = waiting(self._positions, self._bounds)
        known = {p: seen for p, seen in self._oldest.items() if wanted.get(p) == seen[0]}
        missing = {p: offset for p, offset in wanted.items() if p not in known}
        try:
            found = self.broker.times_at(missing)
        except KafkaException as error:
            log.debug("site %s: no record read: %s", self.site, error)
            found = {}
        self._oldest = known | {p: (wanted[p], at) for p, at in found.items()}

    def _find_newest(self, now_s: float) -> None:
        if now_s < self._newest_next_s:
            return
        self._newest_next_s = now_s + self.newest_interval_s
        ends = moved_ends(self._bounds, {part: end for part, (end, _) in self._newest.items()})
        try:
            found = self.broker.newest_times(ends)
        except KafkaException as error:
            log.debug("site %s: no newest record read: %s", self.site, error)
            return
        self._newest |= {part: (ends[part], at) for part, at in found.items()}


def _made_anew(histories: Histories) -> tuple[MadeAnew, ...]:
    return tuple(
        MadeAnew(topic=topic, topic_id=topic_id, found_at=found_at)
        for found_at, topic, topic_id in histories.made_anew()[-_TOLD:]
    )
