"""What a spool counts: every message, every message to a topic, and what each origin has sent."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from pydantic import Field

from millrace.base.model import Frozen
from millrace.gateway.spool.core.contents import ContentComparison, Contents
from millrace.gateway.spool.core.origins import OriginState
from millrace.gateway.spool.core.records import Draft, Record

_MOST_ORIGINS = 50_000
_UNKNOWN = OriginState()


class Unkept(Enum):
    """Why a message gets no number."""

    KNOWN = "its origin has sent it before, and it was kept"
    OTHER = "its origin has sent another message with its number before"
    LONG_KNOWN = "its origin has sent its number before, too long ago to be compared"
    TOO_EARLY = "one that its origin sent before it is missing"
    TOO_OLD = "nobody knows any more whether it was kept"


Entry = Record | Unkept
_UNKEPT_BY = {
    ContentComparison.SAME: Unkept.KNOWN,
    ContentComparison.OTHER: Unkept.OTHER,
    ContentComparison.FORGOTTEN: Unkept.LONG_KNOWN,
}


def are_safe(entries: Sequence[Entry]) -> bool:
    """Whether each of these messages is in the spool, now or since an earlier time."""
    return Unkept.TOO_EARLY not in entries and Unkept.TOO_OLD not in entries


class Heading(Frozen):
    """A ledger as it was when a segment began; it stands at the segment's head."""

    # Another for each life of a spool; with topic and number it is a message's identity.
    epoch: int
    next_index: int = 0
    # When the segment began, by the machine's clock and by the spool's own.
    time_ms: int = 0
    clock_s: int = 0
    next_numbers: dict[str, int] = Field(default_factory=dict)
    origins: dict[str, OriginState] = Field(default_factory=dict)


class MessageLedger:
    """Gives each message its numbers, and knows those that are there already."""

    def __init__(self, heading: Heading, *, waits_for_missing: bool = True) -> None:
        """`waits_for_missing`: an origin begins with 1 and sends again what was not taken, so
        nothing is taken behind a message that is missing. Else it passes over what it likes, and
        nothing keeps a second one from using its name."""
        self._waits_for_missing = waits_for_missing
        self._contents = None if waits_for_missing else Contents()
        self.epoch = heading.epoch
        self.next_index = heading.next_index
        # By the machine's clock, and by the spool's own.
        self.time_ms, self.clock_s = heading.time_ms, heading.clock_s
        self._numbers = {topic.encode(): number for topic, number in heading.next_numbers.items()}
        self._origins = {origin.encode(): seen for origin, seen in heading.origins.items()}
        # Origins that there was no room for; who is one of them may have a message kept twice.
        self.forgotten = 0
        # Of messages that were entered and are not safe yet.
        self._unsettled: dict[bytes, OriginState] = {}

    def heading(self) -> Heading:
        self.keep_origins(_MOST_ORIGINS)
        return Heading(
            epoch=self.epoch,
            next_index=self.next_index,
            time_ms=self.time_ms,
            clock_s=self.clock_s,
            next_numbers={topic.decode(): number for topic, number in self._numbers.items()},
            origins={origin.decode(): seen for origin, seen in self._origins.items()},
        )

    @property
    def origin_count(self) -> int:
        return len(self._origins)

    def keep_origins(self, most: int) -> None:
        """Those that were silent for longest are forgotten; by no clock, which may be wrong."""
        if len(self._origins) > most:
            kept = sorted(self._origins.items(), key=lambda one: one[1].serial, reverse=True)
            self._origins = dict(kept[:most])
            self.forgotten += len(kept) - most

    def last_of(self, origin: bytes) -> int:
        """The number of an origin's last message that is safe; 0: none is known."""
        return self._origins.get(origin, _UNKNOWN).last

    def next_number(self, topic: bytes) -> int:
        return self._numbers.get(topic, 1)

    def enter(self, drafts: list[Draft]) -> list[Entry]:
        """As records of one group, but for those that cannot be."""
        group, place, epoch = self.next_index, 0, self.epoch
        now_ms, clock_s = self.time_ms, self.clock_s
        entries: list[Entry] = []
        for draft in drafts:
            topic, key, value, origin, number = draft
            if origin:
                seen = self._unsettled.get(origin) or self._origins.get(origin, _UNKNOWN)
                unkept = self._judge(seen, draft)
                if unkept:
                    entries.append(unkept)
                    continue
                if self._contents:
                    self._contents.note(origin, number, key, value)
                self._unsettled[origin] = seen.after(number, group + place)
            own = self._numbers.get(topic, 1)
            self._numbers[topic] = own + 1
            entries.append(Record(group + place, place, own, now_ms, draft, epoch, clock_s))
            place += 1
        self.next_index = group + place
        return entries

    def settle(self) -> None:
        """What was entered is safe, and may be spoken of."""
        self._origins.update(self._unsettled)
        self._unsettled.clear()

    def _judge(self, seen: OriginState, draft: Draft) -> Unkept | None:
        number = draft.origin_number
        if number > seen.last:
            is_early = self._waits_for_missing and number > seen.last + 1
            return Unkept.TOO_EARLY if is_early else None
        if seen.lacks(number):
            return None
        if number < seen.floor:
            return Unkept.TOO_OLD
        if self._contents is None:
            return Unkept.KNOWN
        return _UNKEPT_BY[self._contents.compare(draft.origin, number, draft.key, draft.value)]

    def take_over(self, record: Record) -> None:
        """Of a record that is there: so a ledger is made again from what was written."""
        topic, key, value, origin, number = record.draft
        self.epoch = record.epoch
        self.time_ms, self.clock_s = record.time_ms, record.clock_s
        self.next_index = max(self.next_index, record.serial + 1)
        self._numbers[topic] = max(self._numbers.get(topic, 1), record.number + 1)
        if origin:
            seen = self._origins.get(origin, _UNKNOWN)
            if number > seen.last or seen.lacks(number):
                self._origins[origin] = seen.after(number, record.serial)
            if self._contents:
                self._contents.note(origin, number, key, value)
