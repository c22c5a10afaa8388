"""How many messages are due, and how long to wait."""

from __future__ import annotations

import pytest

from millrace.gateway.simulator.core.pacing import Pace


@pytest.mark.parametrize(
    ("elapsed_s", "due"), [(0.0, 1), (0.09, 1), (0.1, 2), (1.0, 11), (10.0, 25)]
)
def test_messages_come_due_at_the_rate_up_to_the_count(elapsed_s, due):
    assert Pace(rate=10, count=25).due(elapsed_s) == due


def test_endless_run_is_never_done():
    assert not Pace(rate=10).is_done(10**9)
    assert Pace(rate=10, count=3).is_done(3)


@pytest.mark.parametrize(
    ("sent", "elapsed_s", "wait_s"),
    [(1, 0.0, 0.1), (2, 0.15, 0.05), (1, 0.5, 0.0), (11, 1.099, 0.01), (100, 1.0, 0.5)],
    ids=["just begun", "between two", "behind", "nearly due", "far ahead"],
)
def test_wait_ends_when_the_next_is_due(sent, elapsed_s, wait_s):
    assert Pace(rate=10).wait_s(sent, elapsed_s) == pytest.approx(wait_s)
