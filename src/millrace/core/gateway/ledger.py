"""What a spool counts: every message, every message to a topic, and what each origin has sent."""

from __future__ import annotations

from enum import Enum

from pydantic import Field

from millrace.core.gateway.records import Draft, Record
from millrace.core.model import Frozen

_FORGET_MS = 7 * 86_400_000
_MOST_ORIGINS = 50_000


class Unkept(Enum):
    """Why a message gets no number."""

    KNOWN = "its origin has sent it before"
    TOO_EARLY = "one that its origin sent before it is missing"


Entry = Record | Unkept


class Heading(Frozen):
    """A ledger as it was when a segment began; it stands at the segment's head."""

    # Grows with each spool that is begun anew; with topic and number it is a message's identity.
    epoch: int
    next_index: int = 0
    next_numbers: dict[str, int] = Field(default_factory=dict)
    # By origin: the number of its last message, and when that came.
    origins: dict[str, tuple[int, int]] = Field(default_factory=dict)


class Ledger:
    """Gives each message its numbers, and knows those that are there already."""

    def __init__(self, heading: Heading) -> None:
        # Whether a missing message may still come, so that none behind it is taken before it.
        self.waits_for_missing = True
        self.epoch = heading.epoch
        self.next_index = heading.next_index
        self._numbers = {topic.encode(): number for topic, number in heading.next_numbers.items()}
        self._origins = {origin.encode(): seen for origin, seen in heading.origins.items()}

    def heading(self, now_ms: int) -> Heading:
        self._forget_origins(now_ms)
        return Heading(
            epoch=self.epoch,
            next_index=self.next_index,
            next_numbers={topic.decode(): number for topic, number in self._numbers.items()},
            origins={origin.decode(): seen for origin, seen in self._origins.items()},
        )

    def _forget_origins(self, now_ms: int) -> None:
        """Those that were silent for a week, and beyond a bound those that were silent longest."""
        kept = [one for one in self._origins.items() if one[1][1] > now_ms - _FORGET_MS]
        kept.sort(key=lambda one: one[1][1])
        self._origins = dict(kept[-_MOST_ORIGINS:])

    def last_of(self, origin: bytes) -> int:
        """The number of the last message that an origin has sent; 0: none is known."""
        return self._origins.get(origin, (0, 0))[0]

    def enter(self, drafts: list[Draft], now_ms: int) -> list[Entry]:
        """As records of one group, but for those that cannot be."""
        group, place = self.next_index, 0
        entries: list[Entry] = []
        for draft in drafts:
            topic, _, _, origin, number = draft
            if origin:
                unkept = self._judge(origin, number)
                if unkept:
                    entries.append(unkept)
                    continue
                self._origins[origin] = (number, now_ms)
            own = self._numbers.get(topic, 1)
            self._numbers[topic] = own + 1
            entries.append(Record(group + place, place, own, now_ms, draft))
            place += 1
        self.next_index = group + place
        return entries

    def _judge(self, origin: bytes, number: int) -> Unkept | None:
        last = self.last_of(origin)
        if number <= last:
            return Unkept.KNOWN
        is_early = self.waits_for_missing and last and number > last + 1
        return Unkept.TOO_EARLY if is_early else None

    def take_over(self, record: Record) -> None:
        """Of a record that is there: so a ledger is made again from what was written."""
        topic, _, _, origin, number = record.draft
        self.next_index = max(self.next_index, record.serial + 1)
        self._numbers[topic] = max(self._numbers.get(topic, 1), record.number + 1)
        if origin and number > self.last_of(origin):
            self._origins[origin] = (number, record.time_ms)
