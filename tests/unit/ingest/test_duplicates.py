"""What was seen of a producer's numbers, from batch to batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from millrace.base.ranges import Range
from millrace.ingest.core.duplicates import (
    MOST_RANGES,
    MOST_RANGES_IN_ALL,
    MOST_SENDERS,
    Seen,
    joined_seen,
    pairs_of,
    seen_of_pairs,
)
from millrace.ingest.io.duplicate_files import TwinFiles
from millrace.storage.io.objects import FolderObjects

GATEWAY = "7 plant-a/lines/t"


def seen(*bounds: int) -> Seen:
    return seen_of_pairs({GATEWAY: bounds})


@pytest.mark.parametrize(
    ("before", "batch", "after"),
    [
        ((), (0, 4), (0, 4)),
        ((0, 4), (5, 9), (0, 9)),
        ((0, 4), (8, 9), (0, 4, 8, 9)),
        ((0, 4, 8, 9), (5, 7), (0, 9)),
        ((0, 4), (), (0, 4)),
    ],
    ids=["first", "next", "hole", "filled", "nothing"],
)
def test_what_was_seen_is_joined(
    before: tuple[int, ...], batch: tuple[int, ...], after: tuple[int, ...]
) -> None:
    assert joined_seen(seen(*before), seen(*batch)) == seen(*after)


def test_a_batch_that_brings_nothing_of_a_producer_forgets_nothing_of_it() -> None:
    other = {"7 plant-a/web/t": (Range(first=0, last=0),)}
    assert joined_seen(seen(0, 4), other) == {**seen(0, 4), **other}


def test_the_oldest_ranges_are_forgotten_first() -> None:
    singles = seen(*(bound for n in range(0, 2 * MOST_RANGES + 2, 2) for bound in (n, n)))
    kept = joined_seen({}, singles)[GATEWAY]
    assert (len(kept), kept[0].first) == (MOST_RANGES, 2)


def test_senders_that_were_quiet_longest_are_forgotten_first() -> None:
    once = {f"{n} plant-a/lines/t": seen(0, n)[GATEWAY] for n in range(3 * MOST_SENDERS)}
    first = joined_seen({}, once)
    assert list(first) == sorted(once)[-MOST_SENDERS:]
    oldest, second = list(first)[:2]
    kept = joined_seen(first, {oldest: seen(0, 9)[GATEWAY], "new": seen(1, 1)[GATEWAY]})
    assert len(kept) == MOST_SENDERS
    assert list(kept)[-2:] == sorted([oldest, "new"])
    assert second not in kept


def test_what_is_kept_of_all_senders_together_is_bounded() -> None:
    holes = seen(*(bound for n in range(0, 2 * MOST_RANGES, 2) for bound in (n, n)))[GATEWAY]
    kept = joined_seen({}, {str(number): holes for number in range(8)})
    assert sum(map(len, kept.values())) <= MOST_RANGES_IN_ALL
    assert list(kept) == ["3", "4", "5", "6", "7"]


def test_pairs_tell_ranges_and_back() -> None:
    assert pairs_of(seen(0, 4, 8, 9)) == {GATEWAY: [0, 4, 8, 9]}


def test_a_checkpoint_keeps_the_newest_batch_and_the_one_before(tmp_path: Path) -> None:
    files = TwinFiles(FolderObjects(tmp_path))
    assert files.after(-1) is None
    for batch in range(3):
        files.keep(batch, seen(0, batch))
    assert [files.after(batch) for batch in range(4)] == [None, seen(0, 1), seen(0, 2), None]
