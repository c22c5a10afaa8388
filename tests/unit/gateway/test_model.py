"""Years of outages: what was answered reaches the topic, once and in order, and memory is bounded.

`docs/adr/0018-gateway.md` names the one hole: a request of a process that was killed, on its way
through a cut link, may come after the look back.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.core.gateway import look_back
from tests.unit.gateway.model import INPUTS, TOPICS, Counting, Entry, Gateway, Name, name_of

SEEDS = st.integers(0, 2**63)
STEPS = st.integers(5, 60)


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    monkeypatch.setattr(look_back, "GLANCE", 0)
    yield
    logging.disable(logging.NOTSET)


class Life:
    """Events by chance, until all comes to rest."""

    def __init__(self, seed: int, *kinds: str) -> None:
        self.gateway = Gateway(seed)
        self._kinds = kinds
        self.chance = self.gateway.chance

    def go(self, steps: int) -> Gateway:
        events = [self._take, *[self.gateway.work] * 4, self._cut, self._kill, self._up_or_down]
        events += [self._refuse, self._fill_letters, self.gateway.broker.write_by_a_stranger]
        events += [getattr(self, kind) for kind in self._kinds]
        for _ in range(steps):
            self.chance.choice(events)()
        self.gateway.come_to_rest()
        return self.gateway

    def _take(self) -> None:
        name = self.chance.choices(INPUTS, [9, 1])[0]
        self.gateway.take(name, self.chance.randrange(1, 30))

    def _cut(self) -> None:
        self.gateway.cut()

    def _kill(self) -> None:
        self.gateway.kill()

    def _up_or_down(self) -> None:
        self.gateway.broker.is_up = self.chance.random() < 0.7

    def _refuse(self) -> None:
        topic = self.gateway.broker.topics[self.chance.choice(TOPICS)]
        topic.refuses = self.chance.random() < 0.4

    def _fill_letters(self) -> None:
        spool = self.gateway.spools["busy"]
        spool.is_full_of_letters = self.chance.random() < 0.4

    # Of some lives alone.

    def drop(self) -> None:
        self.gateway.spools["busy"].drop(self.chance.randrange(1, 40))

    def make_anew(self) -> None:
        name = self.chance.choice(TOPICS)
        if self.chance.random() < 0.5:
            self.gateway.cut()
            self.gateway.owe_to_the_next(name)
        self.gateway.broker.make_anew(name)

    def forget(self) -> None:
        self.gateway.broker.forget(self.chance.choice(TOPICS))

    def arrive_late(self) -> None:
        left = self.gateway.kill()
        for _ in range(self.chance.randrange(4)):
            self.gateway.work()
        self.gateway.arrive_late(left)


def ours(log: list[Entry]) -> list[tuple[Name, Entry]]:
    return [(name_of(one[0]), one) for one in log if one[0]]


def check_all_is_done(gateway: Gateway) -> None:
    for courier in gateway.couriers:
        window, spool = courier.window, gateway.spools[courier.name]
        assert window.base == window.next == spool.next_index
        assert (window.outstanding, window.remembered, courier.waiting) == (0, 0, 0)


def check_nothing_is_lost(gateway: Gateway) -> None:
    logs = [log for _, topic in gateway.broker.incarnations for log in topic.ever]
    there = {name for log in logs for name, _ in ours(log)}
    for courier in gateway.couriers:
        spool = gateway.spools[courier.name]
        for record in gateway.kept[courier.name]:
            if record.serial in spool.dropped or record.serial in spool.letters:
                continue
            assert name_of(courier.headers(record)) in there, record


def check_new_topics_have_what_was_not_done(gateway: Gateway) -> None:
    for since, name, serials in gateway.owed:
        spool = gateway.spools[name]
        logs = [log for _, topic in gateway.broker.incarnations[since:] for log in topic.ever]
        there = {one for log in logs for one, _ in ours(log)}
        courier = next(one for one in gateway.couriers if one.name == name)
        for record in gateway.kept[name]:
            is_gone = record.serial in spool.dropped or record.serial in spool.letters
            if record.serial in serials and not is_gone:
                assert name_of(courier.headers(record)) in there, record


def check_nothing_is_doubled(gateway: Gateway) -> None:
    for _, topic in gateway.broker.incarnations:
        counts = Counter(name for log in topic.ever for name, _ in ours(log))
        assert all(count == 1 for count in counts.values()), counts


def check_order(gateway: Gateway) -> None:
    """Of each key and producer, of what came for the first time under the topic's name."""
    last: dict[tuple[object, bytes], int] = {}
    seen: set[Name] = set()
    for _, topic in gateway.broker.incarnations:
        for name, (_, key, _) in (one for log in topic.ever for one in ours(log)):
            number = int(str(name.number, "ascii"))  # type: ignore[arg-type]
            if name not in seen:
                assert number > last.get((name.producer, key), 0), "overtaken"
                last[name.producer, key] = number
            seen.add(name)


ALWAYS = (check_all_is_done, check_nothing_is_lost)
ONCE: tuple[Callable[[Gateway], None], ...] = (*ALWAYS, check_nothing_is_doubled, check_order)


@pytest.mark.generated
@given(SEEDS, STEPS)
def test_outages_kills_and_refusals_lose_double_and_overtake_nothing(seed: int, steps: int) -> None:
    gateway = Life(seed).go(steps)
    for check in ONCE:
        check(gateway)
    assert Counting.in_vain == 0, "an input for which nothing waits reads nothing back"
    assert (gateway.forwarder.made_anew, gateway.forwarder.gone_back) == (0, 0)


@pytest.mark.generated
@given(SEEDS, STEPS)
def test_what_is_dropped_is_counted_and_the_rest_is_delivered(seed: int, steps: int) -> None:
    gateway = Life(seed, "drop").go(steps)
    for check in ONCE:
        check(gateway)


@pytest.mark.generated
@given(SEEDS, STEPS)
def test_topics_made_anew_get_all_that_is_not_done_once(seed: int, steps: int) -> None:
    gateway = Life(seed, "make_anew").go(steps)
    for check in (*ONCE, check_new_topics_have_what_was_not_done):
        check(gateway)


@pytest.mark.generated
@given(SEEDS, STEPS)
def test_a_broker_that_forgets_loses_nothing_that_is_not_answered(seed: int, steps: int) -> None:
    gateway = Life(seed, "forget", "make_anew").go(steps)
    for check in ALWAYS:
        check(gateway)


@pytest.mark.generated
@given(SEEDS, STEPS)
def test_requests_that_come_late_lose_nothing(seed: int, steps: int) -> None:
    gateway = Life(seed, "arrive_late", "drop").go(steps)
    for check in ALWAYS:
        check(gateway)
