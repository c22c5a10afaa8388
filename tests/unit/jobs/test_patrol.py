"""When a job counts as watched by nobody."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from millrace.jobs.core.patrol import is_unwatched

NOW = datetime(2026, 3, 29, 1, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("sign_s_ago", "patrol_s_ago", "unwatched"),
    [
        (5, 3600, False),
        (29, 3600, False),
        (31, 3600, True),
        (3600, 5, False),  # the watches were away as long as the patrol was
        (3600, 31, True),
        (None, 5, False),
        (None, 31, True),
    ],
)
def test_a_job_is_unwatched_after_a_while_without_a_sign(
    sign_s_ago: int | None, patrol_s_ago: int, unwatched: bool
) -> None:
    sign = None if sign_s_ago is None else NOW - timedelta(seconds=sign_s_ago)
    assert is_unwatched(sign, NOW - timedelta(seconds=patrol_s_ago), NOW) is unwatched
