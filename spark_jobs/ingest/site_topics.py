"""Keeps a site's query in the topics that its broker has now: compared at each start and batch.

See kafka/core/incarnations.py and ingest/core/moves.py.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from confluent_kafka import KafkaException

from millrace.base.errors import TransientError
from millrace.base.ranges import Range
from millrace.ingest.core.far_times import described
from millrace.ingest.core.ingest_spec import SiteInput
from millrace.ingest.core.lag import HeldOffsets, Offsets, Partition
from millrace.ingest.core.moves import (
    DropBeginning,
    Found,
    PutCommit,
    PutHistories,
    PutOffsets,
    Settle,
    Step,
    next_step,
)
from millrace.ingest.core.restored import Stamps, cut_off, replaced, still_there
from millrace.ingest.io.checkpoint import Checkpoint
from millrace.kafka.core.coordinates import Part
from millrace.kafka.core.incarnations import Histories, beginning, begun_again
from spark_jobs.kafka.broker_view import Broker
from spark_jobs.kafka.far_time_errors import far_records_of
from spark_jobs.kafka.topic_ids import TopicIds

log = logging.getLogger(__name__)

_LATEST = 2**62


class TopicChangedError(Exception):
    """Found between two looks of one batch, of which nothing is kept."""


class HeldTables(Protocol):
    """What a move asks of the tables of a site's query."""

    def held_ids(self) -> Mapping[str, Iterable[str]]:
        """Under which ids bronze has rows of each of its topics."""

    def held_ends(self, ids: Mapping[str, str]) -> Offsets:
        """Behind the last row that bronze has of each partition of these."""

    def last_read(self, positions: Mapping[Part, int]) -> Stamps:
        """The record before each position, where bronze has one."""

    def parting(self, lives: Sequence[Part], low: int, end: int) -> int:
        """The first offset from `low` on, before `end`, of which the broker has another record
        than bronze; the end where there is none. `lives`: one partition under several ids.
        """

    def settle(self, batch: int) -> bool:
        """The answer to core.moves.Settle."""

    def skip(self, batch: int) -> None:
        """A batch of the query has no rows."""


@dataclass
class SiteTopics:
    site: SiteInput
    checkpoint: Checkpoint
    # A client that asks for bounds, for one look.
    new_broker: Callable[[], Broker]
    # Hears of each change of them.
    on_histories: Callable[[Histories], None] = lambda _: None
    _histories: Histories = field(default_factory=Histories)

    def __post_init__(self) -> None:
        self.ids = TopicIds(self.site)

    def ids_at(self, batch: int) -> dict[str, str]:
        return {topic: one.id for topic, one in self._histories.at(batch).items()}

    def begun(self) -> dict[Partition, int]:
        """Where the reading of topics begins whose first records were read before."""
        return {
            (topic, number): begin
            for topic, one in self._histories.newest.items()
            if one.goes_on
            for number, begin in one.begins.items()
        }

    def check(self) -> None:
        if others := self._others(self.ids()):
            raise TopicChangedError(f"topics {sorted(others)} of site {self.site.site!r}")

    def are_others(self) -> bool:
        """Whether the query cannot go on where it was, and can after the next `bring`."""
        if self._others(self.ids()):
            return True
        with self._asking() as broker:
            return bool(cut_off(self.checkpoint.kept().positions, broker.bounds()))

    def beyond_spark(self) -> list[str]:
        """Of each partition of the planned batch the first record that Spark cannot convert."""
        begins, ends = (
            self.checkpoint.offsets(batch)
            for batch in (self.checkpoint.last_commit(), self.checkpoint.last_planned())
        )
        spans = {part: Range(first=begins.get(part, 0), last=end - 1) for part, end in ends.items()}
        with self._asking() as broker:
            return described(far_records_of(broker, spans))

    def _others(self, ids: Mapping[str, str]) -> dict[str, str]:
        newest = self._histories.newest
        return {topic: one for topic, one in ids.items() if one != newest[topic].brokers_id}

    def bring(self, tables: HeldTables) -> None:
        """Before each start of the query, which goes on from where this leaves it."""
        ids = self.ids()
        self._begin(ids, tables)
        # First what a crash interrupted; positions are sure after it.
        self._move({}, tables)
        found = self._found(ids, tables)
        self._move(found, tables)
        self._histories = self.checkpoint.histories()
        self.on_histories(self._histories)
        for topic, one in found.items():
            log.warning(
                "site %s: topic %s was made anew, or its broker came back to an older state of it;"
                " it is read as %s from %s on, and what the tables have of the former one stays",
                *(self.site.site, topic, one.id, dict(one.begins)),
            )

    def _begin(self, ids: Mapping[str, str], tables: HeldTables) -> None:
        """What the query meets for the first time."""
        known = self.checkpoint.histories()
        missing = {topic: one for topic, one in ids.items() if topic not in known.topics}
        if not missing:
            return
        since = self.checkpoint.last_planned() + 1 if known.topics else -1
        met = beginning(missing, tables.held_ids(), since)
        self.checkpoint.history_file.put(known.model_copy(update={"topics": known.topics | met}))

    def _move(self, found: Mapping[str, Found], tables: HeldTables) -> None:
        self._histories = self.checkpoint.histories()
        while step := self._next(found, tables):
            self._do(step, tables)

    def _found(self, ids: Mapping[str, str], tables: HeldTables) -> dict[str, Found]:
        """Topics that are others, and those that are the same in an older state."""
        with self._asking() as broker:
            bounds = broker.bounds()
            restored = self._restored(ids, broker, bounds, tables)
        if self.ids() != ids:
            raise TransientError("a topic was made anew at this moment")
        topics = {topic for topic, _ in restored}
        found = {
            topic: Found(one, {n: held.low for (name, n), held in bounds.items() if name == topic})
            for topic, one in self._others(ids).items()
            if topic not in topics
        }
        for topic in topics:
            id_ = begun_again(ids[topic], self._histories.topics[topic])
            found[topic] = Found(id_, self._partings(topic, ids[topic], bounds, restored, tables))
        return found

    def _restored(
        self,
        ids: Mapping[str, str],
        broker: Broker,
        bounds: Mapping[Partition, HeldOffsets],
        tables: HeldTables,
    ) -> dict[Partition, int]:
        """Partitions in an older state, each with the end of what may be the same in it."""
        others, newest = self._others(ids), self._histories.newest
        all_read = self.checkpoint.kept().positions or tables.held_ends(self.ids_at(_LATEST))
        positions = {part: end for part, end in all_read.items() if part[0] not in others}
        read = tables.last_read(
            {
                Part(self.site.site, *part, newest[part[0]].id): end
                for part, end in positions.items()
            }
        )
        at_broker = broker.stamps_at(still_there(read, bounds))
        found = cut_off(positions, bounds) | replaced(read, at_broker)
        # A topic that was there before another one of its name.
        came_back = {t for t, one in others.items() if self._lives(t, one)}
        return {
            part: min(held.high, positions.get(part, held.high))
            for part, held in bounds.items()
            if part in found or part[0] in came_back
        }

    def _partings(
        self,
        topic: str,
        brokers: str,
        bounds: Mapping[Partition, HeldOffsets],
        restored: Mapping[Partition, int],
        tables: HeldTables,
    ) -> dict[int, int]:
        positions = self.checkpoint.kept().positions
        begins = {}
        for part, held in bounds.items():
            if part[0] == topic and part in restored:
                lives = [Part(self.site.site, *part, one) for one in self._lives(topic, brokers)]
                begins[part[1]] = tables.parting(lives, held.low, restored[part])
            elif part[0] == topic:
                begins[part[1]] = positions.get(part, held.low)
        return begins

    def _lives(self, topic: str, brokers: str) -> list[str]:
        """Under which ids the tables have rows of the topic with this id at its broker."""
        return [one.id for one in self._histories.topics[topic] if one.brokers_id == brokers]

    @contextmanager
    def _asking(self) -> Iterator[Broker]:
        broker = self.new_broker()
        try:
            yield broker
        except KafkaException as error:
            raise TransientError(error.args[0].str()) from error
        finally:
            broker.close()

    def _next(self, found: Mapping[str, Found], tables: HeldTables) -> Step | None:
        kept, now = self.checkpoint.kept(), datetime.now(UTC)
        step = next_step(kept, found, now)
        if isinstance(step, Settle):
            step = next_step(kept, found, now, is_held=tables.settle(step.batch))
        return step

    def _do(self, step: Step, tables: HeldTables) -> None:
        match step:
            case PutHistories(histories):
                self.checkpoint.history_file.put(histories)
            case PutOffsets(batch, text):
                tables.skip(batch)
                self.checkpoint.put_offsets(batch, text)
            case PutCommit(batch, text):
                self.checkpoint.put_commit(batch, text)
            case DropBeginning():
                self.checkpoint.drop_beginning()
