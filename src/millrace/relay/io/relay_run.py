"""One relay from its start to its end: a reader a site, and one writer."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from threading import Event, Thread

from confluent_kafka import KafkaError

from millrace.kafka.io.client_errors import UnreachableError
from millrace.relay.core.beat import RelayBeat
from millrace.relay.core.relay_plan import Halt
from millrace.relay.core.spec import RelaySpec
from millrace.relay.core.start import Renewal
from millrace.relay.io.cluster_login import Door
from millrace.relay.io.inbox import Inbox
from millrace.relay.io.read_positions import read_positions
from millrace.relay.io.relay_ledger import RelayLedger
from millrace.relay.io.site_reader import SiteReader
from millrace.relay.io.target import Target
from millrace.relay.io.target_topics import TargetTopics
from millrace.relay.io.writer import Writer

_BEAT_S = 0.5
_KNOWN_WITHIN_S = 15.0


class StoppedError(Exception):
    """Asked to end in the middle of waiting."""


class Relay:
    """`publish` is given a beat twice a second, `on_halt` what stopped, `on_renewal` what began
    anew, `say` a line."""

    def __init__(
        self,
        spec: RelaySpec,
        sources: Sequence[Door],
        target: Door,
        *,
        stop: Event,
        publish: Callable[[RelayBeat], None],
        on_halt: Callable[[Halt], None],
        on_renewal: Callable[[Renewal], None],
        say: Callable[[str], None],
        make_target: type[Target] = Target,
    ) -> None:
        self._spec, self._sources, self._door, self._stop = spec, sources, target, stop
        self._publish, self._say = publish, say
        self._began = datetime.now(UTC)
        self._target = make_target(spec, target.cluster, target.settings, self._wait)
        self._topics = TargetTopics(spec, target.cluster, target.settings)
        self._ledger = RelayLedger({}, on_halt, on_renewal)
        self._inbox = Inbox()
        self._writer = Writer(self._target, self._ledger, self._inbox, stop)
        self._readers: list[SiteReader] = []

    def run(self) -> None:
        """Until `stop`. Raises what it cannot get over; started anew it goes on where it was."""
        beats = Thread(target=self._beat_on, daemon=True)
        beats.start()
        try:
            with suppress(StoppedError):
                self._open()
                self._relay()
        finally:
            self._stop.set()
            beats.join()

    def _open(self) -> None:
        """First whoever ran before is shut out, then what that one did is read."""
        self._target.open()
        topic = self._spec.positions_topic
        stored = read_positions(self._door.cluster, self._door.settings, topic)
        self._ledger.advance(stored)
        self._say(f"relay {self._spec.name!r}: goes on with {len(stored)} partitions")

    def _relay(self) -> None:
        self._readers = [
            SiteReader(
                door,
                self._spec.topics,
                self._ledger,
                self._inbox,
                self._stop,
                self._make_room,
                sites=len(self._sources),
            )
            for door in self._sources
        ]
        with ThreadPoolExecutor(max(1, len(self._readers))) as pool:
            reading = [pool.submit(reader.run) for reader in self._readers]
            try:
                while not self._stop.is_set():
                    self._writer.bring_next()
                    _raise_what_ended(reading)
            finally:
                self._stop.set()

    def _make_room(self, site: str, source: Mapping[str, int]) -> dict[str, str]:
        ids = self._topics.make_room(site, source, self._say)
        deadline = time.monotonic() + _KNOWN_WITHIN_S
        for topic, partitions in source.items():
            name = self._spec.target(site, topic)
            while not self._target.knows(name, partitions):
                if time.monotonic() > deadline or self._stop.wait(0.05):
                    text = f"topic {name!r} does not get its {partitions} partitions"
                    raise UnreachableError(self._door.cluster.name, text)
        return ids

    def _wait(self, error: KafkaError) -> None:
        """The target does not answer: for as long as that takes, unless asked to end."""
        self._writer.trouble = str(self._target.watch.explain(error))
        if self._target.watch.is_refused:
            self._target.take_login(self._door.login())
        if self._stop.wait(0.1):
            raise StoppedError

    def _beat_on(self) -> None:
        before, at = 0, time.monotonic()
        while True:
            ended = self._stop.wait(_BEAT_S)
            now, messages = time.monotonic(), self._writer.messages
            self._publish(self._beat((messages - before) / max(now - at, 1e-3)))
            before, at = messages, now
            if ended:
                return

    def _beat(self, messages_per_s: float) -> RelayBeat:
        writer = self._writer
        return RelayBeat(
            relay=self._spec.name,
            at=datetime.now(UTC),
            began=self._began,
            messages=writer.messages,
            transactions=writer.transactions,
            messages_per_s=messages_per_s,
            last_commit_at=writer.last_commit_at,
            trouble=writer.trouble,
            sites=tuple(reader.beat() for reader in self._readers),
            halts=self._ledger.halts,
            renewals=self._ledger.renewals,
        )


def _raise_what_ended(reading: Sequence[Future[None]]) -> None:
    """A reader ends when all does; before that, only by a mistake of ours."""
    for one in reading:
        if one.done():
            one.result()
