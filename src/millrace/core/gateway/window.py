"""Which messages of a spool are at the broker: handed over in order, acknowledged in any."""

from __future__ import annotations

from collections import deque
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
    """From the first message that is not done to the next that is to be handed over.

    Its memory grows with messages that are done and lie between those two, one number each, and
    with stretches of messages that need nothing, two numbers each, whatever their length.
    """

    def __init__(self, progress: Progress) -> None:
        self.base = self.next = progress.base
        # Done one by one, between `base` and `next`.
        self._done: set[int] = set()
        # Stretches between `base` and `next` of which nothing is to be sent: their ends by their
        # beginnings. They were lost with what held them, or done before the last rewind.
        self._gaps: dict[int, int] = {}
        self._in_gaps = 0
        # From `next` on: stretches that were done before the last rewind, in order.
        self._ahead: deque[tuple[int, int]] = deque()
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
        return self.next - self.base - len(self._done) - self._in_gaps

    @property
    def span(self) -> int:
        """How far the next message is ahead of the first that is not done."""
        return self.next - self.base

    @property
    def remembered(self) -> int:
        """How many numbers it holds in memory."""
        return len(self._done) + 2 * len(self._gaps) + 2 * len(self._ahead)

    def hand_over(self, index: int) -> None:
        """Those between the last and this were lost with what held them, or are done."""
        if index > self.next:
            self.pass_over(index)
        self.next = index + 1
        self._reach = max(self._reach, self.next)

    def pass_over(self, end: int) -> None:
        """Nothing before `end` is still to be handed over."""
        if end <= self.next:
            return
        while self._ahead and self._ahead[0][0] < end:
            end = max(end, self._ahead.popleft()[1])
        if self.base == self.next:
            self.base = end
        else:
            self._gaps[self.next] = end
            self._in_gaps += end - self.next
        self.next = end

    def finish(self, index: int) -> None:
        """It needs no more care: it is at the broker, or a dead letter."""
        if index != self.base:
            self._done.add(index)
            return
        base, done, gaps = index + 1, self._done, self._gaps
        while True:
            if base in done:
                done.remove(base)
                base += 1
            elif gaps and base in gaps:
                end = gaps.pop(base)
                self._in_gaps -= end - base
                base = end
            else:
                break
        self.base = base

    def acknowledge(self, index: int, part: Part, offset: int) -> None:
        self._ends[part] = offset + 1
        self.finish(index)

    def is_done(self, index: int) -> bool:
        """Of a message that was handed over."""
        return index < self.base or index in self._done

    def wants(self, index: int) -> bool:
        """Whether a message is still to be handed over. It is met in the spool's order: those
        before it that were not met are gone."""
        while self._ahead and self._ahead[0][0] <= index:
            self.pass_over(self._ahead[0][1])
        return index >= self.next

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
        done = sorted([*((one, one + 1) for one in self._done), *self._gaps.items(), *self._ahead])
        self._ahead.clear()
        for begin, end in done:
            if self._ahead and self._ahead[-1][1] == begin:
                begin = self._ahead.pop()[0]
            self._ahead.append((begin, end))
        self._done.clear()
        self._gaps.clear()
        self._in_gaps = 0
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
