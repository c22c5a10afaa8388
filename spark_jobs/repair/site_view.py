"""What a site's broker and checkpoint say, as far as its broker answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time

from confluent_kafka import KafkaException

from millrace.base.errors import MillraceError
from millrace.base.ranges import Ranges, range_between
from millrace.ingest.core.ends import Ends
from millrace.ingest.core.ingest_spec import SiteInput
from millrace.ingest.core.lag import HeldOffsets, Partition, overtaken, waiting
from millrace.kafka.core.coordinates import Part
from millrace.repair.core.verify_spec import ContinuitySpec, Facts
from spark_jobs.kafka.broker_view import Broker
from spark_jobs.kafka.topic_ids import TopicIds
from spark_jobs.repair.stream_ends import committed_ends

_NOTHING = HeldOffsets(0, 0)


@dataclass(frozen=True)
class SiteView:
    site: str
    ends: Ends
    # By topic: the incarnation that the broker has.
    ids: Mapping[str, str] = field(default_factory=dict)
    held: Mapping[Partition, HeldOffsets] = field(default_factory=dict)
    # What the broker deleted before it was read.
    overtaken: Mapping[Partition, HeldOffsets] = field(default_factory=dict)
    # The time of the oldest record that the stream has not read yet.
    oldest_waiting: datetime | None = None
    # Why the broker could not be asked.
    error: str = ""

    @property
    def parts(self) -> set[Part]:
        at_broker = {Part(self.site, *one, self.ids[one[0]]) for one in self.held}
        return at_broker | self.ends.parts(self.site).keys()

    def _held_of(self, part: Part) -> HeldOffsets:
        """Where an older state goes on, what came before is of the incarnation before it."""
        held = self.held.get((part.topic, part.partition), _NOTHING)
        return HeldOffsets(max(held.low, self.ends.begins(part) or 0), held.high)

    def is_now(self, part: Part) -> bool:
        """Of the topic that is there now, as far as anybody knows."""
        now = self.ends.id_of(part.topic) if self.error else self.ids.get(part.topic)
        return part.topic_id == now

    def facts(self, part: Part, present: Ranges, first_day: date | None) -> Facts:
        is_known = not self.error and self.is_now(part)
        return Facts(
            present=present,
            committed=self.ends.parts(self.site).get(part, 0),
            held=self._held_of(part) if is_known else None,
            is_former=not self.error and not is_known,
            begins=self.ends.begins(part, first_day),
            overtaken=self._overtaken(part) if is_known else (),
        )

    def _overtaken(self, part: Part) -> Ranges:
        gone = self.overtaken.get((part.topic, part.partition), _NOTHING)
        return range_between(gone.low, gone.high)


def look_at_sites(task: ContinuitySpec, ends: Mapping[str, Ends]) -> list[SiteView]:
    return [_look(task, site, ends[site.site]) for site in task.inputs]


def _look(task: ContinuitySpec, site: SiteInput, ends: Ends) -> SiteView:
    broker = Broker(site, group=f"millrace-{task.pipeline}-verify", timeout_s=15.0)
    try:
        ids = {topic: ends.id_now(topic, one) for topic, one in TopicIds(site, 15.0)().items()}
        held = {part: one for part, one in broker.bounds().items() if part[0] in ids}
        read = {part: _position(ends, ids, part) for part in held}
        behind = broker.times_at(waiting(read, held))
        later = committed_ends(task, site.checkpoint)
        read_since = {part: at for part, at in later.offsets.items() if later.is_of(part[0], ids)}
        return SiteView(
            site=site.site,
            ends=ends,
            ids=ids,
            held=_from_first_day(task, broker, held),
            overtaken=overtaken(read_since, held),
            oldest_waiting=min(behind.values(), default=None),
        )
    except KafkaException as error:
        return SiteView(site.site, ends, error=error.args[0].str())
    except MillraceError as error:
        return SiteView(site.site, ends, error=str(error))
    finally:
        broker.close()


def _position(ends: Ends, ids: Mapping[str, str], part: Partition) -> int:
    """Of a topic that the stream has not moved to yet, nothing is read."""
    return ends.offsets.get(part, 0) if ends.is_of(part[0], ids) else 0


def _from_first_day(
    task: ContinuitySpec, broker: Broker, held: Mapping[Partition, HeldOffsets]
) -> Mapping[Partition, HeldOffsets]:
    """Records of days that are not looked at begin nothing."""
    if task.bronze_from is None:
        return held
    midnight = datetime.combine(task.bronze_from, time(), UTC)
    begins = broker.offsets_at(midnight, list(held))
    return {part: HeldOffsets(max(b.low, begins[part]), b.high) for part, b in held.items()}
