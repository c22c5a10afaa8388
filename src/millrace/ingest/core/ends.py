"""Up to where a site's stream has written all tables of its pipeline, and under which ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from millrace.ingest.core.lag import Offsets
from millrace.kafka.core.coordinates import Part, any_of, is_part, is_topic, quoted
from millrace.kafka.core.incarnations import Histories, Incarnation


@dataclass(frozen=True)
class Ends:
    offsets: Offsets = field(default_factory=dict)
    # By topic: the incarnation that these offsets are of, and the ids of those before it.
    topics: Mapping[str, Incarnation] = field(default_factory=dict)
    former: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def owned_from(self, part: Part) -> int | None:
        """From where on rows are the stream's to write; None: none of this partition are.

        A partition that it has not committed yet, or of a topic that it has not moved to, is all
        its own.
        """
        if part.topic_id in self.former.get(part.topic, ()):
            return None
        is_read = self.id_of(part.topic) == part.topic_id
        return self.offsets.get((part.topic, part.partition), 0) if is_read else 0

    def id_now(self, topic: str, brokers: str) -> str:
        """Under which id rows are, or will be, of the topic that has this id at its broker."""
        read = self.topics.get(topic)
        return read.id if read and read.brokers_id == brokers else brokers

    def begins(self, part: Part, first_day: date | None = None) -> int | None:
        """The offset from which on all has to be there; None where only the broker can tell.

        `first_day`: what came before is not looked at, so the topic's beginning may be before it.
        """
        read = self.topics.get(part.topic)
        if read is None or read.id != part.topic_id or read.found_at is None:
            return None
        if first_day and read.found_at.date() <= first_day:
            return None
        return read.begins.get(part.partition, 0) if read.goes_on else 0

    def id_of(self, topic: str) -> str | None:
        return self.topics[topic].id if topic in self.topics else None

    def is_of(self, topic: str, ids: Mapping[str, str]) -> bool:
        """Whether these offsets are of the topic that has this id now."""
        return topic in ids and self.id_of(topic) == ids[topic]

    def parts(self, site: str) -> dict[Part, int]:
        """The partitions that it reads, each with the next offset that it will read."""
        return {
            Part(site, topic, number, self.topics[topic].id): offset
            for (topic, number), offset in self.offsets.items()
            if topic in self.topics
        }


def ends_at(batch: int, offsets: Offsets, histories: Histories) -> Ends:
    """`offsets`: where the batch ends."""
    return Ends(offsets, histories.at(batch), histories.before(batch))


def below(ends: Mapping[str, Ends]) -> str:
    """Rows that no stream writes any more: of former topics, or before the committed positions.

    A partition that a site's stream has not committed yet is all the stream's. A site without a
    checkpoint has no stream, so all its rows are meant.
    """
    if not ends:
        return "true"
    done = [f"site NOT IN ({', '.join(quoted(site) for site in sorted(ends))})"]
    for site, its in sorted(ends.items()):
        done += [
            f"({is_part(part)} AND offset < {end})" for part, end in sorted(its.parts(site).items())
        ]
        done += [
            f"({is_topic(site, topic, ids)})" for topic, ids in sorted(its.former.items()) if ids
        ]
    return any_of(done)
