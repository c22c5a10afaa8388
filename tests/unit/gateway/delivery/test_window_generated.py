"""A window through whatever happens to its messages: lost, refused, answered late, sent again."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.gateway.delivery.core.window import DeliveryProgress, Window


class Spool:
    """Messages 0 to `count`, of which some are gone."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.gone: set[int] = set()

    def from_on(self, index: int) -> list[int]:
        return [one for one in range(index, self.count) if one not in self.gone]


class Sender:
    """Hands a spool's messages over as they are met, and notes what became of each."""

    def __init__(self, spool: Spool, chance: Random) -> None:
        self._spool = spool
        self._chance = chance
        self.window = Window(DeliveryProgress())
        self.sent: list[int] = []
        self.done: list[int] = []
        # No broker takes these; they are done when they are written down, together.
        self.letters: list[int] = []
        self.handed_over: set[int] = set()
        self._at = 0

    def feed(self) -> None:
        for index in self._spool.from_on(self._at)[: self._chance.randrange(1, 12)]:
            self._at = index + 1
            if self.window.wants(index):
                self.window.hand_over(index)
                self.sent.append(index)
                self.handed_over.add(index)

    def answer(self) -> None:
        for index in self._chance.sample(self.sent, self._chance.randrange(len(self.sent) + 1)):
            self.sent.remove(index)
            self.done.append(index)
            self.window.finish(index)

    def bury(self) -> None:
        for index in self._spool.from_on(self._at)[:2]:
            self._at = index + 1
            if self.window.wants(index):
                self.window.hand_over(index)
                self.letters.append(index)
                self.handed_over.add(index)

    def settle(self) -> None:
        for index in self.letters:
            self.window.finish(index)
        self.done += self.letters
        self.letters.clear()

    def rewind(self) -> None:
        self.sent.clear()
        self.letters.clear()
        self.window.rewind()
        self._at = self.window.base

    def lose(self) -> None:
        begin = self._chance.randrange(self._spool.count)
        stretch = range(begin, begin + self._chance.randrange(1, 15))
        self._spool.gone.update(one for one in stretch if one < self._spool.count)

    def end(self) -> None:
        while self._spool.from_on(self._at) or self.sent:
            self.feed()
            self.answer()
        self.settle()
        self.window.pass_over(self._spool.count)

    def check(self) -> None:
        window = self.window
        assert window.outstanding == len(self.sent) + len(self.letters)
        assert window.base <= window.next <= self._spool.count
        assert all(not window.is_done(index) for index in [*self.sent, *self.letters])
        assert window.remembered <= 3 * len(self.handed_over) + 2, "whatever was lost between them"


@pytest.mark.generated
@given(st.integers(0, 2**32), st.integers(1, 80), st.integers(0, 60))
def test_a_window_with_gaps_rewinds_and_buries_ends_with_all_done_and_none_sent_twice(
    seed: int, count: int, steps: int
) -> None:
    chance = Random(seed)
    spool = Spool(count)
    sender = Sender(spool, chance)
    acts = [*[sender.feed, sender.answer] * 2, sender.rewind, sender.lose]
    acts += [sender.bury, sender.settle]
    for _ in range(steps):
        chance.choice(acts)()
        sender.window.progress()
        sender.check()
    sender.end()
    window = sender.window
    assert (window.base, window.next, window.outstanding, window.remembered) == (count, count, 0, 0)
    assert len(sender.done) == len(set(sender.done))
    assert set(range(count)) - spool.gone <= set(sender.done)
