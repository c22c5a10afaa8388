"""A topic that was deleted and made again under its old name is another incarnation of it.

Its broker gives each an id, and counts its offsets from 0 again. So a position and a row mean
something only together with that id. Beside a query's offsets it is kept which incarnations it
has read, and from which of its batches on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from pydantic import Field

from millrace.base.model import Frozen

# Stands between a broker's id and a number, where a broker came back to an older state of the same
# topic, and what it got since has offsets that were given before.
_AGAIN = "~"


class Incarnation(Frozen):
    """One of a topic's lives, as one site's query knows it."""

    id: str
    # The query's first batch that may hold rows of it; those before are of the one before.
    since: int = -1
    # When the query found it in place of another; None of what was there when the query began.
    found_at: datetime | None = None
    # Where its reading began, by partition; nothing of what was there when the query began.
    begins: dict[int, int] = Field(default_factory=dict)

    @property
    def brokers_id(self) -> str:
        return brokers_id(self.id)

    @property
    def goes_on(self) -> bool:
        """Its first records are those of the incarnation before it."""
        return _AGAIN in self.id


class Move(Frozen):
    """An empty batch, by which a query leaves its positions in a topic that is no more."""

    batch: int
    # What Spark is to find of it in its checkpoint.
    offsets: str
    commit: str


class Histories(Frozen):
    """Of all topics of one site's query: the incarnations of each, oldest first."""

    topics: dict[str, tuple[Incarnation, ...]] = Field(default_factory=dict)
    # The newest; its batch is in the checkpoint, or has yet to be put there.
    move: Move | None = None

    def at(self, batch: int) -> dict[str, Incarnation]:
        """What each topic was when this batch was committed."""
        return {
            topic: known[-1]
            for topic, all_ in self.topics.items()
            if (known := [one for one in all_ if one.since <= batch])
        }

    @property
    def newest(self) -> dict[str, Incarnation]:
        return {topic: all_[-1] for topic, all_ in self.topics.items()}

    def before(self, batch: int) -> dict[str, tuple[str, ...]]:
        """The ids that no batch after this one can write any more."""
        now = self.at(batch)
        return {
            topic: tuple(i.id for i in all_[: all_.index(now[topic])])
            for topic, all_ in self.topics.items()
            if topic in now
        }

    def made_anew(self) -> list[tuple[datetime, str, str]]:
        """When which topic was found to be made anew, and under which id, in this order."""
        return sorted(
            (one.found_at, topic, one.id)
            for topic, all_ in self.topics.items()
            for one in all_
            if one.found_at
        )

    def having(self, added: Mapping[str, Incarnation], move: Move | None = None) -> Histories:
        topics = {topic: (*self.topics.get(topic, ()), one) for topic, one in added.items()}
        return Histories(topics={**self.topics, **topics}, move=move or self.move)


def brokers_id(id_: str) -> str:
    """What the broker calls an incarnation's topic."""
    return id_.partition(_AGAIN)[0]


def begun_again(brokers: str, known: Iterable[Incarnation]) -> str:
    """The id of what a broker goes on with after it came back to an older state."""
    same = sum(one.brokers_id == brokers for one in known)
    return f"{brokers}{_AGAIN}{same}" if same else brokers


def beginning(
    ids: Mapping[str, str], held: Mapping[str, Iterable[str]], since: int = -1
) -> dict[str, tuple[Incarnation, ...]]:
    """Of topics that a query meets for the first time, with that batch.

    `held`: the ids under which the table has rows of each.
    """
    return {
        topic: (
            *(Incarnation(id=old, since=since) for old in sorted({*held.get(topic, ())} - {now})),
            Incarnation(id=now, since=since),
        )
        for topic, now in ids.items()
    }
