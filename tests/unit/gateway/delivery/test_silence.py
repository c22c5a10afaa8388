"""A broker that owes answers and gives none."""

from __future__ import annotations

import pytest

from millrace.gateway.delivery.core.silence import describe_silence


@pytest.mark.parametrize(
    ("silent_s", "said"),
    [(0.0, ""), (4.9, ""), (5.0, "it has answered nothing for 5 s"), (61.2, "nothing for 61 s")],
)
def test_a_silence_is_told_of_when_it_is_long(silent_s: float, said: str) -> None:
    found = describe_silence(silent_s)
    assert said in found
    assert bool(said) == bool(found)
