"""Which messages of a spool are at the broker: handed over in order, acknowledged in any."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Set

from pydantic import Field

from millrace.base.model import Frozen
from millrace.gateway.delivery.core.look_back import Known

Part = tuple[str, int]


class DeliveryProgress(Frozen):
    """All before `base` are done. None from `reach` on was ever handed over. What an earlier
    delivery sent of those between, and was not told of, is at the broker from these offsets on, by
    topic and partition.

    Those before `copied` were there when the spool came up as what may be a copy: the original may
    have sent any of them, to topics of which nothing stands here too."""

    base: int = 0
    reach: int = 0
    copied: int = 0
    offsets: dict[str, dict[int, int]] = Field(default_factory=dict)
    # The topics' ids: under another id the same name is another topic.
    ids: dict[str, str] = Field(default_factory=dict)
    # The epoch in which messages were named anew last: offsets are safe for those names alone.
    renamed_in: int = 0

    def within(self, end: int) -> DeliveryProgress:
        """Of a spool that ends there. One that is put back may end before what was done: what comes
        then was not."""
        ends = {name: min(getattr(self, name), end) for name in ("base", "reach", "copied")}
        return self.model_copy(update=ends)

    def as_of_a_copy(self, end: int, renamed_in: int) -> DeliveryProgress:
        """Of a spool that ends there, and whose messages were named anew last in that epoch. Where
        this is newer, they were copied while they were in use, and offsets say nothing of the names
        that the messages have here."""
        kept = self
        if renamed_in < self.renamed_in:
            kept = kept.model_copy(update={"offsets": {}, "ids": {}})
        return kept.model_copy(update={"reach": end, "copied": end})


class Window:
    """From the first message that is not done to the next that is to be handed over.

    Its memory grows with messages that are done and lie between those two, one number each, and
    with stretches of messages that need nothing, two numbers each, whatever their length.
    """

    def __init__(self, progress: DeliveryProgress) -> None:
        self.base = self.next = progress.base
        # Done one by one, between `base` and `next`.
        self._done: set[int] = set()
        # Stretches between `base` and `next` of which nothing is to be sent: their ends by their
        # beginnings. They were lost with what held them, or done before the last rewind.
        self._gaps: dict[int, int] = {}
        self._in_gaps = 0
        # From `next` on: stretches that were done before the last rewind, in order.
        self._ahead: deque[tuple[int, int]] = deque()
        self._ids = dict(progress.ids)
        self._safe = {
            (topic, partition): offset
            for topic, parts in progress.offsets.items()
            for partition, offset in parts.items()
        }
        # What is known of where the topics end. Whatever is handed over from now on comes behind,
        # but not in topics that this link has not looked through yet.
        self._ends: dict[Part, int] = {}
        self._unread = set(progress.ids)
        self._reach = self._mark = max(progress.base, progress.reach)
        self._copied = progress.copied
        self._at_mark = dict(self._safe)

    @property
    def outstanding(self) -> int:
        return self.next - self.base - len(self._done) - self._in_gaps

    @property
    def may_have_sent(self) -> bool:
        """Whether any message that is not done was ever handed over, by an earlier process too."""
        return self.base < self._reach

    @property
    def another_may_have_sent(self) -> bool:
        """Whether a spool of which this one is a copy may have sent messages that are not done."""
        return self.base < self._copied

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

    def is_done(self, index: int) -> bool:
        """Of a message that was handed over."""
        return index < self.base or index in self._done

    def wants(self, index: int) -> bool:
        """Whether a message is still to be handed over. It is met in the spool's order: those
        before it that were not met are gone."""
        while self._ahead and self._ahead[0][0] <= index:
            self.pass_over(self._ahead[0][1])
        return index >= self.next

    def share(self, ends: dict[Part, int]) -> None:
        """Ends that all windows of a producer learn of together: one that has nothing to send
        follows those that have."""
        self._ends = ends

    def known(self, topic: str) -> Known | None:
        """None: nothing was ever sent to it, unless by another life of the spool."""
        if topic not in self._ids:
            return None
        offsets = {number: at for (name, number), at in self._safe.items() if name == topic}
        return Known(self._ids[topic], offsets)

    def begin(self, topic: str, topic_id: str, offsets: Mapping[int, int]) -> None:
        """In a topic, all that was sent of what is not done lies behind these offsets."""
        for kept in (self._safe, self._at_mark):
            for part in [part for part in kept if part[0] == topic]:
                del kept[part]
            kept.update({(topic, number): offset for number, offset in offsets.items()})
        self._ids[topic] = topic_id
        self._unread.add(topic)

    def end_look(self, topic: str) -> None:
        self._unread.discard(topic)

    def doubt(self, end: int) -> None:
        """Another life has sent some of what is not done: any before `end` may be at the broker."""
        self._reach = self._mark = max(self._reach, end)
        self._at_mark = dict(self._safe)
        self._copied = end

    def forget(self, topic: str) -> None:
        """Its offsets mean nothing any more; what was sent may be anywhere in it."""
        known = self.known(topic)
        if known:
            self.begin(topic, known.id, dict.fromkeys(known.offsets, 0))

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
        self._unread.update(self._ids)

    def progress(self, allowed: int = 0, held: Set[str] = frozenset()) -> DeliveryProgress:
        """Offsets of a moment at which nothing of what is not done now had been handed over:
        whatever of it the broker has, it has behind them.

        `allowed`: before this, messages may be handed over without another word. `held`: topics
        that may have messages which are not done, whoever sent them: their offsets stay.
        """
        if not self.may_have_sent:
            self._safe = self._at_mark = self._ends_now(held)
            self._mark = self._reach
        elif self.base >= self._mark:
            self._safe, self._at_mark = self._at_mark, self._ends_now(held)
            self._mark = self._reach
        offsets: dict[str, dict[int, int]] = {}
        for (topic, partition), offset in self._safe.items():
            offsets.setdefault(topic, {})[partition] = offset
        reach = max(self._reach, allowed)
        copied = self._copied if self.another_may_have_sent else 0
        return DeliveryProgress(
            base=self.base, reach=reach, copied=copied, offsets=offsets, ids=dict(self._ids)
        )

    def _ends_now(self, held: Set[str]) -> dict[Part, int]:
        """Of the topics that it sends to."""
        topics = self._ids.keys() - self._unread - held
        ends = {part: end for part, end in self._ends.items() if part[0] in topics}
        return {**self._safe, **ends}
