"""Which messages of a spool are at the broker: handed over in order, acknowledged in any."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from millrace.core.model import Frozen

Part = tuple[str, int]


class Progress(Frozen):
    """All before `base` are done. What an earlier delivery sent of the others, and was not told of,
    is at the broker from these offsets on, by topic and partition."""

    base: int = 0
    offsets: dict[str, dict[int, int]] = Field(default_factory=dict)


class Window:
    """From the first message that is not done to the next that is to be handed over."""

    def __init__(self, progress: Progress) -> None:
        self.base = self.next = progress.base
        self._done: set[int] = set()
        self._ends = {
            (topic, partition): offset
            for topic, parts in progress.offsets.items()
            for partition, offset in parts.items()
        }
        self._safe = dict(self._ends)
        self._reach = self._mark = self.next
        self._at_mark = dict(self._ends)

    @property
    def outstanding(self) -> int:
        return self.next - self.base - len(self._done)

    def hand_over(self, index: int) -> None:
        """Numbers between the last one and this were lost with what held them."""
        if index > self.next:
            self._done.update(range(self.next, index))
        self.next = index + 1
        self._reach = max(self._reach, self.next)

    def finish(self, index: int) -> None:
        """It needs no more care: it is at the broker, or a dead letter."""
        if index != self.base:
            self._done.add(index)
            return
        self.base += 1
        while self.base in self._done:
            self._done.remove(self.base)
            self.base += 1

    def acknowledge(self, index: int, part: Part, offset: int) -> None:
        self._ends[part] = offset + 1
        self.finish(index)

    def is_done(self, index: int) -> bool:
        return index < self.base or index in self._done

    def knows(self, topic: str) -> bool:
        return any(known == topic for known, _ in self._safe)

    def begin_at(self, ends: Mapping[Part, int]) -> None:
        """The ends of partitions of which nothing is known, before anything is sent to them."""
        for part, end in ends.items():
            self._ends.setdefault(part, end)
            self._safe.setdefault(part, end)
            self._at_mark.setdefault(part, end)

    def rewind(self) -> None:
        """Whatever is not done will be handed over again."""
        self.next = self.base

    def progress(self, *, is_looked_through: bool = True) -> Progress:
        """Offsets of a moment at which nothing of what is not done now had been handed over:
        whatever of it the broker has, it has behind them.

        Not `is_looked_through`: an earlier delivery may have sent more than this one has met.
        """
        if is_looked_through and self.base >= self._mark:
            self._safe = self._at_mark
            self._mark, self._at_mark = self._reach, dict(self._ends)
        offsets: dict[str, dict[int, int]] = {}
        for (topic, partition), offset in self._safe.items():
            offsets.setdefault(topic, {})[partition] = offset
        return Progress(base=self.base, offsets=offsets)
