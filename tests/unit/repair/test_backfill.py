"""Which rows a backfill may replace."""

from __future__ import annotations

from datetime import date

import pytest

from millrace.base.errors import MillraceError
from millrace.ingest.core.ends import Ends
from millrace.kafka.core.incarnations import Incarnation
from millrace.repair.core.backfill_spec import check_days, settled_rows

TODAY = date(2026, 11, 18)


@pytest.mark.parametrize(
    ("first", "last", "problem"),
    [
        (date(2026, 11, 17), date(2026, 11, 16), "--from=2026-11-17 is after --to=2026-11-16"),
        (date(2026, 11, 18), date(2026, 11, 19), "in the future; today is 2026-11-18"),
        (date(2026, 11, 9), TODAY, "first day that all tables keep is 2026-11-10"),
    ],
)
def test_days_that_cannot_be_made_anew_are_refused(first: date, last: date, problem: str) -> None:
    with pytest.raises(MillraceError, match=problem):
        check_days(first, last, date(2026, 11, 10), TODAY)


@pytest.mark.parametrize("kept_from", [None, date(2026, 11, 10)])
def test_today_and_the_oldest_kept_day_are_fine(kept_from: date | None) -> None:
    check_days(date(2026, 11, 10), TODAY, kept_from, TODAY)


def test_only_what_no_stream_writes_any_more_is_replaced() -> None:
    ends = Ends({("t", 0): 7}, {"t": Incarnation(id="i")})
    rows = settled_rows(TODAY, TODAY, {"plant-a": ends})
    assert rows == (
        "day >= DATE'2026-11-18' AND day <= DATE'2026-11-18' AND (site NOT IN ('plant-a')"
        " OR (site = 'plant-a' AND topic = 't' AND topic_id IN ('i') AND partition = 0"
        " AND offset < 7))"
    )
