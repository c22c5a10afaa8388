"""Years of outages: what was answered reaches the topic, once and in order, and memory is bounded.

Each life has a seed; what a failure prints repeats it. `make fuzz` goes on with new seeds, and says
how many lives that were and how much of the model's time (world/years.py).
"""

from __future__ import annotations

from itertools import count, islice

import pytest
from hypothesis import settings

from tests.unit.gateway.world import years
from tests.unit.gateway.world.years import KINDS, live, steps_of

# Of those that hypothesis would take; a life is a millisecond.
_TIMES_AS_MANY = 3


@pytest.mark.generated
@pytest.mark.parametrize("name", KINDS)
def test_no_life_breaks_a_law(name: str, request: pytest.FixtureRequest) -> None:
    first = int(request.config.getoption("--hypothesis-seed") or 0)
    most = _TIMES_AS_MANY * settings().max_examples
    tally = years.lives([name], islice(count(first), most))
    assert tally.lives == most
    assert tally.messages > most
    assert tally.outages > most


def test_a_life_is_the_same_whenever_it_is_lived() -> None:
    for name, kind in KINDS.items():
        logs = [
            [[e[2] for log in topic.ever for e in log] for topic in life.broker.incarnations]
            for life in (live(kind, seed=7, steps=40) for _ in range(2))
        ]
        assert logs[0] == logs[1], name


def test_of_a_broken_law_the_shortest_life_of_the_seed_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(life: years.Life) -> None:
        assert life.truth.made < 5

    kinds = {"broken": years.Kind((), (broken,))}
    monkeypatch.setattr(years, "KINDS", kinds)
    with pytest.raises(AssertionError) as caught:
        years.lives(["broken"], count())
    last = caught.value.__notes__[-1]
    seed, steps = (int(word.split("=")[1].strip(",)")) for word in last.split() if "=" in word)
    assert steps <= steps_of(seed)
    live(kinds["broken"], seed, steps - 1)
    with pytest.raises(AssertionError):
        live(kinds["broken"], seed, steps)
