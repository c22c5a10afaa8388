"""What is said of records whose times Spark's own reader cannot convert."""

from __future__ import annotations

import pytest

from millrace.base.ranges import Range
from millrace.ingest.core.far_times import (
    SPARKS_LAST_MS,
    FarTimeError,
    candidates,
    described,
    far_records,
)
from millrace.kafka.core.coordinates import Part

P0, P1 = ("t", 0), ("t", 1)
SPANS = {P0: Range(first=5, last=9), P1: Range(first=5, last=9)}
FAR_MS = SPARKS_LAST_MS + 1


@pytest.mark.parametrize(("first", "is_one"), [(4, False), (5, True), (9, True), (10, False)])
def test_only_a_record_that_was_read_is_blamed(first: int, *, is_one: bool) -> None:
    assert candidates(SPANS, {P0: first, ("other", 0): 7}) == ({P0: first} if is_one else {})


def test_the_record_in_place_of_an_aborted_one_is_not_blamed_unless_it_is_such_a_record() -> None:
    stamps = {P0: (7, SPARKS_LAST_MS), P1: (10, FAR_MS)}
    assert far_records(SPANS, stamps) == {}
    stamps = {P0: (7, FAR_MS), P1: (8, 2**62)}
    assert far_records(SPANS, stamps) == stamps


def test_the_error_names_where_the_record_is_and_the_way_out() -> None:
    (record,) = described({P0: (7, 2**62)})
    text = str(FarTimeError("p", [f"site 'plant-a', {record}"], {}))
    for part in ("'p'", "'plant-a'", "'t'", "partition 0", "offset 7", str(2**62)):
        assert part in text
    assert "'reader: millrace' under 'engine'" in text


def test_where_the_broker_finds_no_such_record_the_error_says_what_was_read() -> None:
    spans = {Part("plant-a", "t", 0, "id"): Range(first=5, last=9)}
    text = str(FarTimeError("p", [], spans))
    assert "site 'plant-a', topic 't', partition 0, offsets 5 to 9" in text
    assert "'reader: millrace' under 'engine'" in text
