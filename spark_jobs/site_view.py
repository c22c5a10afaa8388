"""What a site's broker and checkpoint say, as far as its broker answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time

from confluent_kafka import KafkaException

from millrace.core.continuity import ContinuitySpec, Facts
from millrace.core.coordinates import Part
from millrace.core.errors import MillraceError
from millrace.core.job import SiteInput
from millrace.core.lag import Bounds, Offsets, Partition, waiting
from millrace.core.ranges import Ranges
from spark_jobs.broker import Broker

_NOTHING = Bounds(0, 0)


@dataclass(frozen=True)
class SiteView:
    site: str
    committed: Offsets
    held: Mapping[Partition, Bounds] = field(default_factory=dict)
    # The time of the oldest record that the stream has not read yet.
    oldest_waiting: datetime | None = None
    # Why the broker could not be asked.
    error: str = ""

    @property
    def parts(self) -> set[Part]:
        return {Part(self.site, *partition) for partition in {*self.committed, *self.held}}

    def facts(self, part: Part, present: Ranges) -> Facts:
        partition = (part.topic, part.partition)
        held = None if self.error else self.held.get(partition, _NOTHING)
        return Facts(present=present, committed=self.committed.get(partition, 0), held=held)


def look_at_sites(task: ContinuitySpec, ends: Mapping[str, Offsets]) -> list[SiteView]:
    return [_look(task, site, ends[site.site]) for site in task.inputs]


def _look(task: ContinuitySpec, site: SiteInput, committed: Offsets) -> SiteView:
    broker = Broker(site, group=f"millrace-{task.pipeline}-verify", timeout_s=15.0)
    try:
        held = broker.bounds()
        behind = broker.times_at(waiting({part: committed.get(part, 0) for part in held}, held))
        return SiteView(
            site=site.site,
            committed=committed,
            held=_from_first_day(task, broker, held),
            oldest_waiting=min(behind.values(), default=None),
        )
    except KafkaException as error:
        return SiteView(site.site, committed, error=error.args[0].str())
    except MillraceError as error:
        return SiteView(site.site, committed, error=str(error))
    finally:
        broker.close()


def _from_first_day(
    task: ContinuitySpec, broker: Broker, held: Mapping[Partition, Bounds]
) -> Mapping[Partition, Bounds]:
    """Records of days that are not looked at begin nothing."""
    if task.bronze_from is None:
        return held
    midnight = datetime.combine(task.bronze_from, time(), UTC)
    begins = broker.offsets_at(midnight, list(held))
    return {part: Bounds(max(b.low, begins[part]), b.high) for part, b in held.items()}
