"""The time a broker keeps of a record."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.kafka.core.record_time import EARLIEST, LATEST, believable, bounded


@pytest.mark.generated
@given(st.integers(-(2**63), 2**63 - 1))
def test_no_number_is_too_absurd_to_be_judged(milliseconds: int) -> None:
    found = believable(milliseconds)
    assert found is None or EARLIEST < found < LATEST


@pytest.mark.parametrize(
    ("milliseconds", "found"),
    [
        (1_763_467_200_123, datetime(2025, 11, 18, 12, 0, 0, 123_000, UTC)),
        (-1, None),
        (0, None),
        (2**62, None),
        (int(EARLIEST.timestamp() * 1000), None),
        (int(LATEST.timestamp() * 1000), None),
    ],
)
def test_a_time_is_believed_between_its_bounds(milliseconds: int, found: datetime | None) -> None:
    assert believable(milliseconds) == found


@pytest.mark.generated
@given(st.integers(-(2**63), 2**63 - 1))
def test_a_bounded_time_is_a_believable_one_or_a_bound(milliseconds: int) -> None:
    found = bounded(milliseconds)
    assert found == milliseconds or found in (ms_of(EARLIEST), ms_of(LATEST))
    assert (found == milliseconds) == (ms_of(EARLIEST) <= milliseconds <= ms_of(LATEST))


def ms_of(time: datetime) -> int:
    return int(time.timestamp() * 1000)
