"""Each pipeline's minute is its own, and stays."""

from __future__ import annotations

from collections import Counter

from millrace.tasks.core.schedule import hourly, nightly

NAMES = [f"pipeline-{number}" for number in range(300)]


def test_a_pipeline_keeps_its_minute() -> None:
    assert hourly("temperature") == "28 * * * *"
    assert nightly("temperature") == "28 1 * * *"


def test_hundreds_spread_over_the_hour_and_the_night() -> None:
    assert max(Counter(map(hourly, NAMES)).values()) < 15
    hours = {int(nightly(name).split()[1]) for name in NAMES}
    assert hours == {1, 2, 3, 4}
