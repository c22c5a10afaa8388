"""What holds at the end of a life, when all has come to rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from millrace.kafka.core.header_names import PRODUCER
from tests.unit.gateway.world.lives import Life

Law = Callable[[Life], None]


def all_is_done(life: Life) -> None:
    for process in life.processes:
        for courier in process.couriers:
            window = courier.window
            assert window.base == window.next == courier.spool.next_index
            assert (window.outstanding, window.remembered, courier.waiting) == (0, 0, 0)


def nothing_is_lost(life: Life) -> None:
    truth = life.truth
    there = values_since(life, 0)
    assert truth.answered <= truth.kept.keys()
    lost = truth.kept.keys() - there - truth.dropped - truth.letters
    assert not lost, f"lost: {sorted(lost)}"


def nothing_is_doubled(life: Life) -> None:
    for topic in life.broker.incarnations:
        values = [entry[2] for log in topic.ever for entry in log if entry[0]]
        if len(values) != len(set(values)):
            twice = {one for one, count in Counter(values).items() if count > 1}
            assert twice <= life.truth.copied, f"twice: {sorted(twice)}"


def a_name_is_one_messages(life: Life) -> None:
    """But where another life's messages were gone before anybody could see them."""
    names: dict[tuple[object, ...], bytes] = {}
    for topic in life.broker.incarnations:
        for headers, _, value in (entry for log in topic.ever for entry in log if entry[0]):
            assert headers[1][0] == PRODUCER
            if value in life.truth.unseen:
                continue
            name = (headers[1][1], headers[2][1], headers[3][1])
            assert names.setdefault(name, value) == value, f"{name}: {names[name]!r}, {value!r}"


def nothing_is_overtaken(life: Life) -> None:
    """Of each input and key, of what came for the first time under the topic's name. A message that
    came back with an older folder is behind newer ones; so is what was dropped, or became a dead
    letter, and is in that folder."""
    truth = life.truth
    order = {value: number for number, value in enumerate(truth.kept)}
    seen = truth.copied | truth.letters | truth.returned | truth.dropped
    last: dict[object, int] = {}
    for topic in life.broker.incarnations:
        for part, log in enumerate(topic.ever):
            for headers, key, value in log:
                if not headers or value in seen:
                    continue
                seen.add(value)
                line = (headers[1][1], key, part)
                assert order[value] > last.get(line, -1), f"{value!r} was overtaken"
                last[line] = order[value]


def new_topics_have_what_was_not_done(life: Life) -> None:
    for since, values in life.owed:
        missing = values - values_since(life, since) - life.truth.dropped - life.truth.letters
        assert not missing, f"not in the new topic: {sorted(missing)}"


def nothing_is_read_in_vain(life: Life) -> None:
    assert life.truth.in_vain == 0, "an input for which nothing waits reads nothing back"
    forwarder = life.process.forwarder
    assert (forwarder.made_anew, forwarder.gone_back) == (0, 0)


def values_since(life: Life, incarnation: int) -> set[bytes]:
    topics = life.broker.incarnations[incarnation:]
    return {entry[2] for topic in topics for log in topic.ever for entry in log}


ALWAYS: tuple[Law, ...] = (all_is_done, nothing_is_lost)
NAMED: tuple[Law, ...] = (*ALWAYS, a_name_is_one_messages)
ONCE: tuple[Law, ...] = (*NAMED, nothing_is_doubled, nothing_is_overtaken)
