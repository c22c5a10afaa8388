"""A fault of one site halts that site, which is tried again; the others are left alone."""

from __future__ import annotations

import pytest

from millrace.ingest.core.ingest_faults import Fault, FaultVerdict
from millrace.ingest.core.standing import LONGEST_RETRY_S, WELL_AFTER_S, Standing, end_of_all

GONE = Fault(FaultVerdict.HALT, "records are gone")
REFUSED = Fault(FaultVerdict.LOGIN, "refused")
AWAY = Fault(FaultVerdict.UNREACHABLE, "no answer")


@pytest.mark.parametrize(
    ("fault", "is_mended", "halted"),
    [
        (GONE, False, "records are gone"),
        (REFUSED, False, "refused"),
        (REFUSED, True, ""),
        (AWAY, False, ""),
        (Fault(FaultVerdict.RETRY, "once more"), False, ""),
    ],
    ids=["for good", "wrong password", "the password was changed", "away", "passing"],
)
def test_only_what_a_person_has_to_mend_halts_a_site(
    fault: Fault, is_mended: bool, halted: str
) -> None:
    one = Standing()
    one.on_begin(0)
    one.on_fault(fault, 1, is_mended=is_mended)
    assert one.halted == halted


def test_a_halted_site_is_tried_again_ever_more_slowly() -> None:
    one, pauses, now_s = Standing(), [], 0.0
    for _ in range(8):
        one.on_begin(now_s)
        pauses.append(one.on_fault(GONE, now_s + 1))
        assert not one.is_due(now_s + pauses[-1])
        now_s += 1 + pauses[-1]
        assert one.is_due(now_s)
    assert pauses == [30, 60, 120, 240, 480, *[LONGEST_RETRY_S] * 3]


def test_a_change_is_tried_at_once() -> None:
    one = Standing()
    one.on_fault(GONE, 0)
    one.on_change(5)
    assert one.is_due(5)
    assert one.halted, "it has yet to be seen to work"


@pytest.mark.parametrize(
    ("after_s", "has_read", "halted"),
    [(1, False, "records are gone"), (1, True, ""), (WELL_AFTER_S, False, "")],
    ids=["only begun", "finished a batch", "had nothing to read, and no fault"],
)
def test_a_site_is_halted_until_it_was_seen_to_work(
    after_s: float, has_read: bool, halted: str
) -> None:
    one = Standing()
    one.on_fault(GONE, 0)
    one.on_begin(30)
    one.on_alive(30 + after_s, has_read=has_read)
    assert one.halted == halted


def test_a_halted_site_whose_broker_is_away_too_stays_halted() -> None:
    one = Standing()
    one.on_fault(GONE, 0)
    one.on_begin(30)
    assert one.on_fault(AWAY, 31) == 1
    assert one.halted == "records are gone"


@pytest.mark.parametrize(
    ("halts", "end"),
    [
        ({"a": "gone"}, "site 'a': gone"),
        ({"a": "gone", "b": ""}, None),
        ({"a": "gone", "b": "refused"}, "site 'a': gone; site 'b': refused"),
        ({"a": "", "b": ""}, None),
        ({}, None),
    ],
)
def test_a_job_ends_when_none_of_its_sites_goes_on(halts: dict[str, str], end: str | None) -> None:
    assert end_of_all(halts) == end
